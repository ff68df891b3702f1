package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"stoic/cli/cluster"
	"stoic/test/command"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

const (
	measured = "measured" // the namespace of the jobs that are measured
	stored   = "stored"   // the namespace of objects that are only stored

	timeLimit   = 20 * time.Minute        // for a workload
	quiet       = 1500 * time.Millisecond // how long a subject sends no request when it has settled
	podsPerNode = 900
)

// session is one workload at one size with one subject.
type session struct {
	who      subject
	log      string // the file of the subject's log
	values   map[string]float64
	cluster  *cluster.Cluster
	jobs     operator.Jobs
	seen     cache.Store // the measured jobs, as a watch shows them
	process  *operator.Process
	audit    *audit
	requests []request          // since the measurement began
	before   operator.Footprint // when the measurement began
}

// measureOne runs a workload once.
func measureOne(ctx context.Context, run *command.Run, w workload, size int, who subject) result {
	name := fmt.Sprintf("%s %d, %s", w.name, size, who.name)
	run.Say("%s", name)
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	s := &session{who: who, values: map[string]float64{}, log: filepath.Join(run.Dir, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".log")}
	err := s.open(ctx, run.Root, w, size)
	if err == nil {
		err = w.run(ctx, s, size)
	}
	if err == nil {
		err = s.finish(ctx)
	}
	cancel()
	err = errors.Join(err, s.close())
	return result{workload: w.name, size: size, subject: who.name, values: s.values, err: err}
}

// open starts a control plane and observes the measured jobs. The subject is not started yet.
func (s *session) open(ctx context.Context, root string, w workload, size int) error {
	pattern := "deploy/crd/*jobs.yaml"
	if w.acceptsAnything {
		pattern = "test/fixtures/*jobs-open.yaml"
	}
	crds, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		return err
	}
	s.cluster, err = cluster.Start(ctx, cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: 3 + w.podsPerUnit*size/podsPerNode, Audit: true,
		CRDs: crds, Users: map[string]string{"operator": operator.User}})
	if err != nil {
		return err
	}
	kubeconfig := s.cluster.Kubeconfig()
	if err := operator.Permit(ctx, kubeconfig, root); err != nil {
		return err
	}
	commands := [][]string{{"create", "namespace", measured}, {"create", "namespace", stored}}
	if s.who.name == otherName { // it needs other permissions than ours
		commands = append(commands, []string{"create", "clusterrolebinding", "measured", "--clusterrole=cluster-admin", "--user=" + operator.User})
	}
	for _, args := range commands {
		if _, err := operator.Kubectl(ctx, kubeconfig, nil, args...); err != nil {
			return err
		}
	}
	if s.audit, err = openAudit(s.cluster.AuditLog()); err != nil {
		return err
	}
	config, err := operator.AdminConfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	s.jobs = operator.Jobs{Client: client, Kind: kinds.TFJob()}
	informers := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, measured, nil)
	s.seen = informers.ForResource(tfJobs).Informer().GetStore()
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

func (s *session) jobsIn(namespace string) dynamic.ResourceInterface { return s.jobs.In(namespace) }

// create creates one of the measured jobs.
func (s *session) create(ctx context.Context, job *unstructured.Unstructured) error {
	_, err := s.jobsIn(measured).Create(ctx, job, metav1.CreateOptions{})
	return err
}

// start starts the subject and waits until it works: a job has its pod, and succeeds. What the subject has done until then is not counted.
func (s *session) start(ctx context.Context) error {
	if err := os.WriteFile(s.log, nil, 0o644); err != nil {
		return err
	}
	began := time.Now()
	var err error
	s.process, err = operator.Start(operator.Options{Command: s.who.command, Kubeconfig: s.cluster.UserKubeconfig("operator"), Log: s.log})
	if err != nil {
		return err
	}
	if _, err := s.jobs.Canary(ctx, "default", "canary"); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	for _, r := range s.requests {
		if r.creates("pods") && r.User.Username == operator.User {
			s.values[restart] = r.StageTimestamp.Sub(began).Seconds()
		}
	}
	s.requests = nil
	s.before, err = s.process.Footprint()
	return err
}

// awaitJobs waits until so many of the measured jobs are in a state.
func (s *session) awaitJobs(ctx context.Context, count int, state training.ConditionType) error {
	return s.await(ctx, fmt.Sprintf("%d jobs to be %s", count, state), func() (bool, string) {
		reached := 0
		for _, job := range s.seen.List() {
			if conditions(job)[string(state)] == string(metav1.ConditionTrue) {
				reached++
			}
		}
		return reached >= count, fmt.Sprintf("%d", reached)
	})
}

// conditions returns the status of each condition of a job.
func conditions(job any) map[string]string {
	all, _, _ := unstructured.NestedFieldNoCopy(job.(*unstructured.Unstructured).Object, "status", "conditions")
	list, _ := all.([]any)
	byType := map[string]string{}
	for _, item := range list {
		condition, _ := item.(map[string]any)
		name, _ := condition["type"].(string)
		byType[name], _ = condition["status"].(string)
	}
	return byType
}

// await waits until something holds, or the subject has ended.
func (s *session) await(ctx context.Context, what string, holds func() (bool, string)) error {
	isAlive := true
	_, err := operator.Until(ctx, what, func() (bool, string) {
		isAlive = s.process.Alive()
		if !isAlive {
			return true, ""
		}
		return holds()
	})
	if !isAlive {
		return errors.New("the operator has ended by itself")
	}
	return err
}

// settle waits until the subject has sent no request for a while.
func (s *session) settle(ctx context.Context) error {
	last := time.Now()
	var failed error
	err := s.await(ctx, "the last request", func() (bool, string) {
		var found []request
		found, failed = s.audit.read()
		for _, r := range found {
			if r.User.Username == operator.User {
				last = time.Now()
			}
		}
		s.requests = append(s.requests, found...)
		return failed != nil || time.Since(last) > quiet, "requests"
	})
	return errors.Join(err, failed)
}

// finish records what the subject has cost since the measurement began.
func (s *session) finish(ctx context.Context) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	after, err := s.process.Footprint()
	if err != nil {
		return err
	}
	s.values[peak] = float64(after.Peak) / 1e6
	jobs := len(s.seen.List())
	if jobs == 0 {
		return nil
	}
	for measure, value := range count(s.requests, operator.User, jobs) {
		s.values[measure] = value
	}
	s.values[cpu] = float64(after.CPU-s.before.CPU) / float64(time.Millisecond) / float64(jobs)
	s.values[unseen] = 0
	for _, job := range s.seen.List() {
		if conditions(job)[string(training.Running)] == "" {
			s.values[unseen]++
		}
	}
	return nil
}

func (s *session) close() error {
	var failed []error
	if s.process != nil {
		// Its work is done: its exit code does not matter.
		if err := s.process.Stop(context.Background()); !errors.As(err, new(*exec.ExitError)) {
			failed = append(failed, err)
		}
	}
	if s.audit != nil {
		failed = append(failed, s.audit.file.Close())
	}
	if s.cluster != nil {
		failed = append(failed, s.cluster.Stop())
	}
	return errors.Join(failed...)
}

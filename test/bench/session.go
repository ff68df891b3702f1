package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"stoic/cli/cluster"
	"stoic/test/bench/measure"
	"stoic/test/command"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

const (
	measured = "measured" // the namespace of the jobs that are measured
	stored   = "stored"   // the namespace of objects that are only stored

	patience    = 2 * time.Minute         // how long nothing may change before a workload fails
	quiet       = 1500 * time.Millisecond // how long a subject sends no request when it has settled
	podsPerNode = 900
)

// session is one workload at one size with one subject.
type session struct {
	name    string
	scale   float64
	result  *result
	cluster *cluster.Cluster
	client  dynamic.Interface
	process *operator.Process
	audit   *measure.Audit
	before  measure.Footprint // when the measurement began

	mu      sync.Mutex
	jobs    map[string]*sight // by name
	changed time.Time         // when anything new was observed
}

// sight has the times at which the states of a job were observed first.
type sight struct {
	asked, created, running, ended, gone time.Time
	pods, want                           int
}

// measureOne runs a workload once.
func measureOne(ctx context.Context, run *command.Run, w workload, size int, scale float64, who subject) (r result) {
	r = result{workload: w.name, size: size, subject: who.name, values: map[string]float64{}}
	s := &session{name: fmt.Sprintf("%s %d, %s", w.name, size, who.name), scale: scale, result: &r, jobs: map[string]*sight{}, changed: time.Now()}
	run.Say("%s", s.name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.err = s.open(ctx, run.Root, w, size, who)
	if r.err == nil {
		log := filepath.Join(run.Dir, strings.NewReplacer(" ", "-", ",", "").Replace(s.name)+".log")
		r.err = w.run(ctx, s, size, func() error { return s.start(ctx, who, log) })
	}
	if s.process != nil && r.err == nil {
		r.err = s.finish(ctx, w.jobs(size, scale))
	}
	cancel()
	r.err = errors.Join(r.err, s.close())
	return r
}

// open starts a control plane and observes jobs and pods. The subject is not started yet.
func (s *session) open(ctx context.Context, root string, w workload, size int, who subject) (err error) {
	crds, err := w.crds(root)
	if err != nil {
		return err
	}
	s.cluster, err = cluster.Start(ctx, cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: 3 + w.pods(size)/podsPerNode, Audit: true,
		CRDs: crds, Users: map[string]string{"operator": operator.User}})
	if err != nil {
		return err
	}
	kubeconfig := s.cluster.Kubeconfig()
	var more []string
	if w.isV2beta1 {
		more = []string{"deploy/mpijob-v2beta1/rbac.yaml"}
	}
	if err := operator.Permit(ctx, kubeconfig, root, more...); err != nil {
		return err
	}
	commands := [][]string{{"create", "namespace", measured}, {"create", "namespace", stored}}
	if who.name == otherName { // it needs other permissions than ours
		commands = append(commands, []string{"create", "clusterrolebinding", "measured", "--clusterrole=cluster-admin", "--user=" + operator.User})
	}
	for _, args := range commands {
		if _, err := operator.Kubectl(ctx, kubeconfig, nil, args...); err != nil {
			return err
		}
	}
	if s.audit, err = measure.FollowAudit(s.cluster.AuditLog(), operator.User); err != nil {
		return err
	}
	return s.observe(ctx, kubeconfig, w.kinds())
}

// observe follows the jobs and pods of the measured namespace until the context ends.
func (s *session) observe(ctx context.Context, kubeconfig string, served []*training.Kind) error {
	config, err := operator.AdminConfig(kubeconfig)
	if err != nil {
		return err
	}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	heads, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	jobs := dynamicinformer.NewFilteredDynamicSharedInformerFactory(s.client, 0, measured, nil)
	pods := metadatainformer.NewFilteredSharedInformerFactory(heads, 0, measured, nil)
	for _, kind := range served {
		_, err := jobs.ForResource(resourceOf(kind)).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(now any) { s.observeJob(now.(*unstructured.Unstructured)) },
			UpdateFunc: func(_, now any) { s.observeJob(now.(*unstructured.Unstructured)) },
			DeleteFunc: s.observeDeletion,
		})
		if err != nil {
			return err
		}
	}
	_, err = pods.ForResource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "pods"}).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { s.observePod(now.(metav1.Object)) },
	})
	if err != nil {
		return err
	}
	jobs.Start(ctx.Done())
	pods.Start(ctx.Done())
	jobs.WaitForCacheSync(ctx.Done())
	pods.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

func (s *session) observeJob(job *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	s.change(job.GetName(), func(j *sight, now time.Time) {
		for _, condition := range conditions {
			c, _ := condition.(map[string]any)
			if c["status"] != "True" {
				continue
			}
			switch t, _ := c["type"].(string); training.ConditionType(t) {
			case training.Running:
				setFirst(&j.running, now)
			case training.Succeeded, training.Failed:
				setFirst(&j.ended, now)
			}
		}
	})
}

func (s *session) observeDeletion(object any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		s.change(strings.TrimPrefix(key, measured+"/"), func(j *sight, now time.Time) { setFirst(&j.gone, now) })
	}
}

func (s *session) observePod(pod metav1.Object) {
	s.change(pod.GetLabels()[training.LabelJob], func(j *sight, now time.Time) {
		j.pods++
		if j.pods == j.want {
			setFirst(&j.created, now)
		}
	})
}

// change records what was observed of a measured job.
func (s *session) change(job string, record func(j *sight, now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[job]; j != nil {
		s.changed = time.Now()
		record(j, s.changed)
	}
}

func setFirst(at *time.Time, now time.Time) {
	if at.IsZero() {
		*at = now
	}
}

// create creates one of the measured jobs.
func (s *session) create(ctx context.Context, name string, sh shape) error {
	s.mu.Lock()
	s.changed = time.Now()
	s.jobs[name] = &sight{asked: s.changed, want: sh.servers + sh.workers}
	s.mu.Unlock()
	_, err := s.client.Resource(resourceOf(sh.kindOf())).Namespace(measured).Create(ctx, sh.job(name), metav1.CreateOptions{})
	return err
}

// start starts the subject and waits until it works: a job that existed before has its pod, and ends. What the subject has done
// until then is not counted.
func (s *session) start(ctx context.Context, who subject, log string) (err error) {
	if err := s.create(ctx, "canary", shape{workers: 1, runs: 100 * time.Millisecond}); err != nil {
		return err
	}
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		return err
	}
	began := time.Now()
	s.process, err = operator.Start(operator.Options{Command: who.command, Kubeconfig: s.cluster.UserKubeconfig("operator"), Log: log})
	if err != nil {
		return err
	}
	if err := s.await(ctx, "the first job to end", 1, func(j *sight) time.Time { return j.ended }); err != nil {
		return err
	}
	s.result.values[restart] = s.jobs["canary"].created.Sub(began).Seconds()
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.audit.Forget()
	s.mu.Lock()
	clear(s.jobs)
	s.mu.Unlock()
	s.before, err = s.process.Footprint()
	return err
}

// await waits until so many jobs have reached a state, as long as something changes.
func (s *session) await(ctx context.Context, what string, count int, at func(*sight) time.Time) error {
	_, err := operator.Until(s.whileAlive(ctx), what, func() (bool, string) {
		reached := len(s.times(at))
		return reached >= count, fmt.Sprintf("%d of %d", reached, count)
	})
	return err
}

// whileAlive returns a context that ends with the subject or the control plane, and when nothing has changed for long.
func (s *session) whileAlive(ctx context.Context) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-s.process.Done():
				end(errors.New("the operator has ended by itself"))
			case <-s.cluster.Done():
				end(s.cluster.Err())
			case now := <-ticker.C:
				s.mu.Lock()
				isStuck := now.Sub(s.changed) > patience
				s.mu.Unlock()
				if isStuck {
					end(fmt.Errorf("nothing has changed for %s", patience))
				}
			}
		}
	}()
	return ctx
}

// times returns how long after they were asked for the jobs have reached a state, of those that have.
func (s *session) times(at func(*sight) time.Time) (all []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if t := at(j); !t.IsZero() {
			all = append(all, max(t.Sub(j.asked), 0))
		}
	}
	return all
}

// settle waits until the subject has sent no request for a while.
func (s *session) settle(ctx context.Context) error {
	last := time.Now()
	var failed error
	_, err := operator.Until(s.whileAlive(ctx), "the last request", func() (bool, string) {
		n, err := s.audit.Update()
		if n > 0 {
			last = time.Now()
		}
		failed = errors.Join(failed, err)
		return failed != nil || time.Since(last) > quiet, "requests"
	})
	return errors.Join(err, failed)
}

// finish records what the subject has cost since its start, for so many jobs.
func (s *session) finish(ctx context.Context, jobs int) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	values := s.result.values
	total := s.audit.Totals()
	values[writes] = float64(total.Writes) / float64(jobs)
	values[events] = float64(total.Events) / float64(jobs)
	values[conflicts] = float64(total.Conflicts)
	values[gets] = float64(total.Gets)
	values[rate] = s.audit.CreationRate()
	lost := 0.0
	for _, outcome := range []string{"refused", "late", "dropped"} {
		count, isFound, err := s.process.Sample(ctx, "training_operator_events_total", `result="`+outcome+`"`)
		if err == nil && isFound {
			lost += count
		}
	}
	values[dropped] = lost
	s.result.setQuantile(createdP50, s.times(func(j *sight) time.Time { return j.created }), 0.5)
	running := s.times(func(j *sight) time.Time { return j.running })
	s.result.setQuantile(runningP50, running, 0.5)
	s.result.setQuantile(runningP99, running, 0.99)
	if ended := s.times(func(j *sight) time.Time { return j.ended }); len(ended) > 0 {
		values[unseen] = float64(max(len(ended)-len(running), 0))
	}
	after, err := s.process.Footprint()
	if err != nil {
		return err
	}
	used := float64(after.CPU-s.before.CPU) / float64(time.Millisecond)
	values[cpu] = used / float64(jobs)
	if pods := total.CreatedPods; pods > 0 {
		values[cpuPerPod] = used / float64(pods)
	}
	values[peak] = float64(after.Peak) / 1e6
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
		failed = append(failed, s.audit.Close())
	}
	if s.cluster != nil {
		failed = append(failed, s.cluster.Stop())
	}
	return errors.Join(failed...)
}

func resourceOf(kind *training.Kind) runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.Plural}
}

// mpiV2beta1 returns the version of MPIJob that a plain installation does not have.
func mpiV2beta1() *training.Kind {
	all := kinds.Served()
	return all[slices.IndexFunc(all, func(k *training.Kind) bool { return k.Name == kinds.MPIJob().Name && k.Version == "v2beta1" })]
}

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stoic/test/e2e/supplies"
)

const (
	lease        = "lease/1ca428e5.training-operator.kubeflow.org"
	operatorPods = "--selector=control-plane=kubeflow-training-operator"
)

// await waits until a condition holds; the result says how far it is.
func (s *system) await(t *testing.T, namespace, what string, holds func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(jobTimeout); ; time.Sleep(time.Second) { // between two looks: each starts a kubectl
		ok, is := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) || s.node.Context().Err() != nil {
			s.show(t, namespace)
			t.Fatalf("waited in vain for %s (%v): %s", what, context.Cause(s.node.Context()), is)
		}
	}
}

func (s *system) uid(t *testing.T, namespace, object string) string {
	t.Helper()
	return s.kubectl(t, "", "get", object, "--namespace="+namespace, "--output=jsonpath={.metadata.uid}")
}

// container returns the ID of the container of a pod of the operator, as containerd knows it.
func (s *system) container(t *testing.T, pod string) string {
	t.Helper()
	id := s.kubectl(t, "", "get", "pod", pod, "--namespace=kubeflow", "--output=jsonpath={.status.containerStatuses[0].containerID}")
	return strings.TrimPrefix(id, "containerd://")
}

// operators returns the names of the operator's pods.
func (s *system) operators(t *testing.T) []string {
	t.Helper()
	return strings.Fields(s.kubectl(t, "", "get", "pods", "--namespace=kubeflow", operatorPods, "--output=jsonpath={.items[*].metadata.name}"))
}

// killedOperator: the operator is killed with SIGKILL while a job runs. The kubelet starts it again, and the job ends with the same pods.
func killedOperator(t *testing.T, s *system) {
	ns := s.namespace(t, "killed")
	s.kubectl(t, workers("job", 2, "Never", "", untilSignal), "apply", "--namespace="+ns, "-f", "-")
	before := s.running(t, ns, "tfjob/job")
	pod := s.operators(t)[0]
	if err := s.node.Task("kill", "--signal", "KILL", s.container(t, pod)); err != nil {
		t.Fatal(err)
	}
	s.goOn(t, ns, "job-worker-0", "job-worker-1")
	s.succeeds(t, ns, "tfjob/job")
	if after := s.pods(t, ns); after != before {
		t.Errorf("other pods: %s", cmp.Diff(before, after))
	}
	restarts := s.kubectl(t, "", "get", "pod", pod, "--namespace=kubeflow", "--output=jsonpath={.status.containerStatuses[0].restartCount}")
	if restarts == "0" {
		t.Error("the operator was not started again: it was not killed")
	}
}

// lostLeader: the leader of two operators is stopped with all its threads, as a virtual machine may be. The standby takes the
// lease when it has expired, and serves a new job. When the first one runs again it ends, as it no longer has the lease.
func lostLeader(t *testing.T, s *system) {
	ns := s.namespace(t, "leader")
	scale := func(replicas int) {
		s.kubectl(t, "", "scale", "deployment/training-operator", "--namespace=kubeflow", fmt.Sprintf("--replicas=%d", replicas))
		s.kubectl(t, "", "rollout", "status", "deployment/training-operator", "--namespace=kubeflow", "--timeout=3m")
	}
	scale(2)
	defer scale(1)
	holder := func() string {
		return s.kubectl(t, "", "get", lease, "--namespace=kubeflow", "--output=jsonpath={.spec.holderIdentity}")
	}
	leader := ""
	s.await(t, "kubeflow", "a leader", func() (bool, string) {
		for _, pod := range s.operators(t) {
			if strings.HasPrefix(holder(), pod) {
				leader = pod
			}
		}
		return leader != "", holder()
	})
	paused := s.container(t, leader)
	if err := s.node.Task("pause", paused); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, workers("job", 1, "Never", "", "true"), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "tfjob/job")
	if now := holder(); strings.HasPrefix(now, leader) {
		t.Errorf("%s still holds the lease", now)
	}
	if err := s.node.Task("resume", paused); err != nil {
		t.Fatal(err)
	}
	s.await(t, "kubeflow", "the end of the first leader, which has lost its lease", func() (bool, string) {
		restarts, err := s.try("", "get", "pod", leader, "--namespace=kubeflow", "--output=jsonpath={.status.containerStatuses[0].restartCount}")
		return err == nil && restarts != "0", restarts
	})
}

// upgraded: manifests and image of this commit replace those of the previous one. The operator's pod is a new one, and a job that
// runs meanwhile keeps its pods.
func upgraded(t *testing.T, s *system) {
	if s.supplies.Before == "" {
		t.Skip("this checkout has no commit before")
	}
	ns := s.namespace(t, "upgraded")
	s.kubectl(t, workers("job", 2, "Never", "", untilSignal), "apply", "--namespace="+ns, "-f", "-")
	before, operators := s.running(t, ns, "tfjob/job"), s.operators(t)
	if images := s.images(t); images != supplies.Earlier {
		t.Fatalf("the operator before is %s", images)
	}
	s.install(t, filepath.Join(s.root, "deploy"), supplies.Operator)
	s.await(t, "kubeflow", "the operator of this commit alone", func() (bool, string) {
		images := s.images(t)
		return images == supplies.Operator, images
	})
	for _, now := range s.operators(t) {
		if slices.Contains(operators, now) {
			t.Errorf("the operator %s was not replaced", now)
		}
	}
	s.goOn(t, ns, "job-worker-0", "job-worker-1")
	s.succeeds(t, ns, "tfjob/job")
	if after := s.pods(t, ns); after != before {
		t.Errorf("other pods: %s", cmp.Diff(before, after))
	}
}

// images returns those of the operator's pods.
func (s *system) images(t *testing.T) string {
	t.Helper()
	return s.kubectl(t, "", "get", "pods", "--namespace=kubeflow", operatorPods, "--output=jsonpath={.items[*].spec.containers[0].image}")
}

// byHelm: the chart takes over what kustomize has installed. A job that runs meanwhile keeps its pods, and helm test succeeds.
func byHelm(t *testing.T, s *system) {
	ns := s.namespace(t, "helm")
	s.kubectl(t, workers("job", 1, "Never", "", untilSignal), "apply", "--namespace="+ns, "-f", "-")
	before := s.running(t, ns, "tfjob/job")
	image, tag := supplies.Split(supplies.Operator)
	s.helm(t, "upgrade", "--install", "training-operator", filepath.Join(s.root, "deploy/chart"), "--namespace=kubeflow", "--take-ownership", "--force-conflicts",
		"--wait", "--timeout=4m", "--set=image.repository="+image, "--set-string=image.tag="+tag, "--set-string=podLabels.installed-by=helm")
	if by := s.kubectl(t, "", "get", "pods", "--namespace=kubeflow", "--selector=installed-by=helm", "--output=name"); by == "" {
		t.Error("no operator is the chart's")
	}
	s.goOn(t, ns, "job-worker-0")
	s.succeeds(t, ns, "tfjob/job")
	if after := s.pods(t, ns); after != before {
		t.Errorf("other pods: %s", cmp.Diff(before, after))
	}
}

func (s *system) helm(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.node.Context(), jobTimeout)
	defer cancel()
	if out, err := s.node.Helm(ctx, args...).CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

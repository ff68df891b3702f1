package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOperatorInTwoProcesses: of two processes of an operator one writes. The other one takes over each time: after a stop as soon as
// the lease is released, after a kill when it has expired (election.TestDefaultTiming has the times). The signal is sent just after a
// renewal of the lease, so that as much of the lease is left as possible.
func TestOperatorInTwoProcesses(t *testing.T) {
	t.Parallel() // it mostly waits
	f := installed(t, fooBarExample(), 0)
	ns := f.namespace(t, "shared")
	leader, standby := f.start(t), f.start(t)
	f.create(t, ns, "one", 0, 40)
	f.awaitAll(t, ns, 40)
	leader, standby = f.inOrder(t, leader, standby)

	made := 40
	for _, round := range []struct {
		signal   string
		end      func(*process)
		releases bool
	}{
		{"SIGTERM", func(p *process) { p.stop(t) }, true},
		{"SIGTERM", func(p *process) { p.stop(t) }, true},
		{"SIGKILL", func(p *process) { p.kill(t) }, false},
		{"SIGKILL", func(p *process) { p.kill(t) }, false},
	} {
		f.awaitRenewal(t, leader)
		holders := f.watchHolders(t, "test-operators", "foobar-operator")
		began := time.Now()
		round.end(leader)
		f.create(t, ns, "one", made, made+1)
		f.awaitMap(t, ns, "one"+strconv.Itoa(made)+"-a")
		t.Logf("%s: the standby took over in %v", round.signal, time.Since(began))
		made++
		if round.releases {
			checkReleased(t, holders, leader)
		} else {
			holders.Stop()
		}
		f.awaitAll(t, ns, made)
		leader, standby = standby, f.start(t)
	}
	standby.stop(t)
	leader.stop(t)
	f.eachOnce(t, made)
}

// eachOnce: no process interfered with another. Each ConfigMap was created by one request, and no request was rejected.
func (f *installation) eachOnce(t *testing.T, made int) {
	t.Helper()
	created := map[string]int{}
	for _, q := range writes(f.requestsOf(t, f.user())) {
		switch {
		case q.ObjectRef.Resource == "leases": // who comes second finds that out by a conflict
		case q.ResponseStatus.Code >= 400:
			t.Errorf("%s %s was answered %d: two processes were in each other's way", q.Verb, q.RequestURI, q.ResponseStatus.Code)
		case q.Verb == "create" && q.ObjectRef.Resource == "configmaps":
			created[q.ObjectRef.Name]++
		}
	}
	for name, times := range created {
		if times != 1 {
			t.Errorf("ConfigMap %s was created %d times", name, times)
		}
	}
	if len(created) != made {
		t.Errorf("%d ConfigMaps were created, want %d", len(created), made)
	}
}

// awaitMap waits until a ConfigMap exists.
func (f *installation) awaitMap(t *testing.T, ns, name string) {
	t.Helper()
	await(t, "ConfigMap "+name, func() (bool, string) {
		_, err := f.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil, fmt.Sprint(err)
	})
}

// lease returns the operator's lease and its holder.
func (f *installation) lease(t *testing.T) (lease *coordinationv1.Lease, holder string) {
	t.Helper()
	lease, err := f.typed.CoordinationV1().Leases("test-operators").Get(context.Background(), "foobar-operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	return lease, holder
}

// holds reports whether a process is the holder: an identity ends with the process's number.
func (p *process) holds(holder string) bool {
	return strings.HasSuffix(holder, fmt.Sprintf("-%d", p.ID()))
}

// inOrder returns the process that leads, and the other.
func (f *installation) inOrder(t *testing.T, a, b *process) (leader, standby *process) {
	t.Helper()
	await(t, "one to lead", func() (bool, string) {
		_, holder := f.lease(t)
		if leader, standby = a, b; b.holds(holder) {
			leader, standby = b, a
		}
		return leader.holds(holder), holder
	})
	return leader, standby
}

// awaitRenewal waits until the leader has renewed its lease once more.
func (f *installation) awaitRenewal(t *testing.T, leader *process) {
	t.Helper()
	before, _ := f.lease(t)
	await(t, "a renewal", func() (bool, string) {
		now, holder := f.lease(t)
		return leader.holds(holder) && now.ResourceVersion != before.ResourceVersion, holder
	})
}

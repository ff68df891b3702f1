package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"stoic/cli/cluster"
	"stoic/training"
)

func sorted(words string) string {
	all := strings.Fields(words)
	slices.Sort(all)
	return strings.Join(all, " ")
}

const leaseName = "1ca428e5.training-operator.kubeflow.org"

// TestLeaderElection: one of several operators works. Each is a different user, so that the audit log shows who wrote what.
func TestLeaderElection(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	users := []string{"first", "second", "third"}
	options := cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}, Users: map[string]string{}}
	for _, u := range users {
		options.Users[u] = u
	}
	r := bareRig(t, options)
	r.permit(t)
	for _, u := range users {
		r.kubectl(t, nil, "create", "clusterrolebinding", u, "--clusterrole=training-operator", "--user="+u)
		r.kubectl(t, nil, "-n", "kubeflow", "create", "rolebinding", u, "--role=training-operator-leader-election", "--user="+u)
	}
	elected := func(user string) *process {
		return r.operator(t, "", "--leader-elect", "--leader-election-namespace", "kubeflow", "--kubeconfig", r.cluster.UserKubeconfig(user))
	}
	first := elected("first")
	r.awaitLeader(t, first)
	second := elected("second") // ready, although it does nothing: it would lead immediately
	r.busy(t, "a")
	r.awaitState(t, "default", "a-0", training.Running)

	first.kill(t)
	r.busy(t, "b")
	r.awaitLeader(t, second)
	r.awaitState(t, "default", "b-0", training.Succeeded)
	r.awaitState(t, "default", "a-0", training.Succeeded)

	third := elected("third")
	r.busy(t, "c")
	r.awaitState(t, "default", "c-0", training.Running)
	holders := r.watchHolders(t, "kubeflow", leaseName)
	second.stop(t)
	r.busy(t, "d")
	r.awaitLeader(t, third)
	checkReleased(t, holders, second)
	r.awaitState(t, "default", "d-0", training.Succeeded)
	r.awaitState(t, "default", "c-0", training.Succeeded)

	third.stop(t)
	lease, err := r.typed.CoordinationV1().Leases("kubeflow").Get(context.Background(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("everybody has stopped, and %s holds the lease", *holder)
	}
	r.checkOneAtATime(t, users)
}

// busy submits jobs that give an operator something to write for some seconds.
func (r *rig) busy(t *testing.T, prefix string) {
	t.Helper()
	var all []string
	for i := range 5 {
		spec := strings.Replace(worker("", "replicas: 3"), "run-for: 1s", fmt.Sprintf("run-for: %ds", 3+i), 1)
		all = append(all, manifest(fmt.Sprintf("%s-%d", prefix, i), spec))
	}
	r.apply(t, "default", strings.Join(all, "\n---\n"))
}

// awaitLeader waits until the lease names a process: its identity ends with its number.
func (r *rig) awaitLeader(t *testing.T, p *process) {
	t.Helper()
	await(t, "another to lead", func() (bool, string) {
		lease, err := r.typed.CoordinationV1().Leases("kubeflow").Get(context.Background(), leaseName, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return false, fmt.Sprint(err)
		}
		holder := *lease.Spec.HolderIdentity
		return p.holds(holder), holder
	})
}

// watchHolders watches who holds a lease, from the present on. A stop of the watch ends the channel.
func (r *rig) watchHolders(t *testing.T, ns, lease string) watch.Interface {
	t.Helper()
	holders, err := r.typed.CoordinationV1().Leases(ns).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + lease})
	if err != nil {
		t.Fatal(err)
	}
	return holders
}

// checkReleased: a process that was asked to stop has released the lease before another one took it. The other one did not wait for
// the lease to expire: election.TestDefaultTiming has the times.
func checkReleased(t *testing.T, holders watch.Interface, stopped *process) {
	t.Helper()
	defer holders.Stop()
	released := false
	for e := range holders.ResultChan() {
		lease, ok := e.Object.(*coordinationv1.Lease)
		if !ok {
			t.Fatalf("an event %s of %T", e.Type, e.Object)
		}
		switch holder := ptr.Deref(lease.Spec.HolderIdentity, ""); {
		case holder == "":
			released = true
		case !stopped.holds(holder):
			if !released {
				t.Errorf("%s took the lease, and the leader that was stopped had not released it", holder)
			}
			return
		}
	}
	t.Error("the watch of the lease has ended")
}

// holds reports whether a lease of that holder is held by the process: its identity ends with its number.
func (p *process) holds(holder string) bool {
	return strings.HasSuffix(holder, fmt.Sprintf("-%d", p.ID()))
}

// checkOneAtATime: in the order in which the API server received them, the writes of one operator end before those of the next
// begin. The exception is the lease, which all write to find out who leads.
func (r *rig) checkOneAtATime(t *testing.T, users []string) {
	t.Helper()
	requests := r.requestsOf(t, users...)
	slices.SortStableFunc(requests, func(a, b audited) int { return a.Received.Compare(b.Received) })
	var turns []string
	counts := map[string]int{}
	for _, q := range writes(requests) {
		if q.ObjectRef.Resource == "leases" {
			continue
		}
		counts[q.User.Username]++
		if len(turns) == 0 || turns[len(turns)-1] != q.User.Username {
			turns = append(turns, q.User.Username)
		}
	}
	if !slices.Equal(turns, users) {
		t.Errorf("they wrote in turns %v, want %v", turns, users)
	}
	// The test has awaited that each runs a job of three pods: six children, the statuses Created and Running, and the events of
	// the pods and of the services are ten writes. How many more each writes depends on when it was stopped.
	for _, u := range users {
		if counts[u] < 10 {
			t.Errorf("%s wrote %d times", u, counts[u])
		}
	}
}

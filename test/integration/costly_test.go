package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/training"
)

const (
	// badAddresses is how many invalid addresses make kube-apiserver validate a pod for some seconds: the time grows with their square.
	// They need 130 KB, and converters leave addresses to the API server.
	badAddresses = 10_000
	// leftOut is the share of the time in which a costly creation may be tried, as docs/decisions/0004-engine.md says: one in so many.
	leftOut = 10
)

// costlyPod: a job whose pod occupies the API server for seconds before it is refused. The creation is sent once, whatever happens to the
// job, until a multiple of that time is over. Other jobs run, the log stays short, and an edit ends the wait.
func costlyPod(t *testing.T, r *rig) {
	ns := r.namespace(t, "costly")
	p := r.operator(t, ns)
	const above = "        spec:\n"
	var aliases strings.Builder
	for i := range badAddresses {
		fmt.Fprintf(&aliases, "            - {ip: n%d}\n", i)
	}
	r.apply(t, ns, manifest("costly", strings.Replace(worker("", ""), above, above+"          hostAliases:\n"+aliases.String(), 1)))
	var first audited
	await(t, "the answer to the creation of the pod", func() (bool, string) {
		all := r.creations(t, ns, "costly-worker-0")
		if len(all) > 0 {
			first = all[0]
		}
		return len(all) > 0, ""
	})
	took := first.Answered.Sub(first.Received)
	t.Logf("the API server worked %s and answered %d", took.Round(time.Millisecond), first.ResponseStatus.Code)
	if took < time.Second || first.ResponseStatus.Code != 422 && first.ResponseStatus.Code != 504 {
		t.Fatalf("it answered %d after %s: the test shows nothing", first.ResponseStatus.Code, took)
	}
	waits := leftOut * took
	if first.ResponseStatus.Code == 504 {
		waits = took
	} else {
		r.reportedOnce(t, ns, "costly", "FailedCreatePod", "hostAliases[0].ip")
	}

	for i := range 5 { // each edit of the metadata is an event, and each event a reconcile
		before, _ := p.metric(t, "controller_runtime_reconcile_total")
		r.patch(t, ns, "costly", fmt.Sprintf(`{"metadata":{"annotations":{"example.com/seen":"%d"}}}`, i))
		await(t, "a reconcile", func() (bool, string) {
			now, _ := p.metric(t, "controller_runtime_reconcile_total")
			return now > before, fmt.Sprint(now)
		})
	}
	for i := range 3 {
		name := fmt.Sprint("healthy-", i)
		r.apply(t, ns, manifest(name, worker("", "")))
		r.awaitState(t, ns, name, training.Succeeded)
	}
	repaired := time.Now()
	r.patch(t, ns, "costly", `{"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"hostAliases":null}}}}}}`)
	r.awaitState(t, ns, "costly", training.Succeeded)

	var before, after int
	isRefused := false // on a slow machine the creation is not completed in time, and not refused
	for _, q := range r.creations(t, ns, "costly-worker-0") {
		isRefused = isRefused || q.ResponseStatus.Code == 422
		if q.Received.Before(repaired) {
			before++
		} else if after++; q.ResponseStatus.Code != 201 {
			t.Errorf("after the repair a creation is answered with %d", q.ResponseStatus.Code)
		}
	}
	allowed := 1 + int(repaired.Sub(first.Answered)/waits) // more than one only on a machine that needs so long for three jobs
	if before < 1 || before > allowed || after != 1 {
		t.Errorf("%d creations in %s before the repair, want %d at most; %d after it", before, repaired.Sub(first.Received), allowed, after)
	}
	if allowed > 1 {
		t.Logf("the healthy jobs took longer than the wait of %s", waits)
	}
	shortLines(t, p, isRefused)
}

// creations returns the answered creations of a pod.
func (r *rig) creations(t *testing.T, ns, pod string) (found []audited) {
	t.Helper()
	for _, q := range r.requestsIn(t, ns) {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ObjectRef.Name == pod {
			found = append(found, q)
		}
	}
	return found
}

// patch edits a job, as a user does.
func (r *rig) patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	if _, err := r.jobs(ns).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// shortLines: the log of a process has no line that a collector of logs would cut, although the answer of an API server that has refused
// the pod was longer.
func shortLines(t *testing.T, p *process, isRefused bool) {
	t.Helper()
	const longest = 16 << 10
	refused := 0
	for line := range strings.Lines(p.Text()) {
		if len(line) > longest {
			t.Errorf("a line of %d bytes: %.200s", len(line), line)
		}
		if strings.Contains(line, "hostAliases[0].ip") {
			refused++
		}
	}
	if isRefused && refused == 0 {
		t.Error("no line of the log names what is refused")
	}
}

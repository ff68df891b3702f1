package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
)

// limitReached: three workers fail together with a retryable exit code, and three restarts are allowed. The operator is killed
// between the record and the deletions, and again while the pods are recreated; in between another client wipes the status. No
// restart is forgotten, and none is counted twice.
func limitReached(t *testing.T, r *rig) {
	ns := r.namespace(t, "counted")
	p := r.operator(t, ns)
	spec := strings.Replace(worker("", "replicas: 3\nrestartPolicy: ExitCode"), `exit-code: "0"`, `exit-code: "137"`, 1)
	r.apply(t, ns, manifest("job", "\n  runPolicy: {backoffLimit: 3}"+spec))
	total := func() (int64, string) {
		ledger := r.head(t, ns, "job").Ledger
		return ledger.Restarts, fmt.Sprintf("%+v", ledger)
	}
	await(t, "three restarts on record", func() (bool, string) {
		n, saw := total()
		return n == 3, saw
	})
	p.kill(t) // no pod is ten seconds old yet
	first := r.pods(t, ns, "job")
	if failed := r.head(t, ns, "job").Ledger.Failed; len(first) != 3 || len(failed) != 3 {
		t.Fatalf("pods %v, on record %v; want three of each", first, failed)
	}
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=json", "-p", `[{"op":"replace","path":"/status","value":{}}]`)

	p = r.operator(t, ns)
	await(t, "another pod", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		for name, uid := range pods {
			if first[name] != uid {
				return true, ""
			}
		}
		return false, fmt.Sprint(pods)
	})
	p.kill(t)
	if n, saw := total(); n != 3 {
		t.Errorf("counted twice: %s", saw)
	}

	r.operator(t, ns)
	head := r.awaitState(t, ns, "job", training.Failed)
	if got, want := head.Status.Condition(training.Failed).Message, "Job job has failed because it has reached the specified backoff limit. First: pod job-worker-"; !strings.HasPrefix(got, want) ||
		!strings.Contains(got, "container tensorflow, exit code 137") {
		t.Errorf("message: %s, want %s", got, want)
	}
	await(t, "the end on record, if a pod is missing", func() (bool, string) { // the status has it first
		head = r.head(t, ns, "job")
		return head.Ledger.Terminal == training.Failed || len(r.pods(t, ns, "job")) == 3, fmt.Sprintf("%+v", head.Ledger)
	})
	if head.Ledger.Restarts != 3 {
		t.Errorf("on record: %+v, want 3 restarts", head.Ledger)
	}
	counts := r.kubectl(t, nil, "-n", ns, "get", "pods", "-o", `jsonpath={.items[*].metadata.annotations.training\.kubeflow\.org/restart-count}`)
	if strings.Trim(counts, "1 ") != "" || counts == "" {
		t.Errorf("the pods say that %q failed before them, want 1 each", counts)
	}
	// There are three pods at first. All three fail and are recreated, which is three restarts. The next failure ends the job,
	// possibly before the last two are recreated. One was awaited above.
	made := 0
	for _, q := range r.requests(t) {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ObjectRef.Namespace == ns && q.ResponseStatus.Code == http.StatusCreated {
			made++
		}
	}
	if made < 4 || made > 6 {
		t.Errorf("%d pods were made, want three and at most three more", made)
	}
	if diff := cmp.Diff(head.Ledger, r.head(t, ns, "job").Ledger); diff != "" {
		t.Errorf("the record changes after the end (-before +after):\n%s", diff)
	}
}

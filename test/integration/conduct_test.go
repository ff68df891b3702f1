package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// conduct checks in the API server's audit log what the operator did in all scenarios.
func conduct(t *testing.T, r *rig) {
	// Scenarios in which replicas are restarted, finished jobs are cleaned up, or one replica succeeds and another cannot be created.
	ledgers := []string{"restarted", "counted", "wiped", "happy", "foreign"}
	requests := r.requests(t)
	// An audit log that is not written would lack everything that is searched below: the pods of all scenarios must be in it.
	made := 0
	for _, q := range requests {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ResponseStatus.Code == http.StatusCreated {
			made++
		}
	}
	if pods, err := r.typed.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: training.LabelJob}); err != nil || made < len(pods.Items) || made == 0 {
		t.Fatalf("the audit log has %d created pods, the cluster %d (%v)", made, len(pods.Items), err)
	}
	for _, q := range requests {
		switch {
		case q.Verb == "list" && strings.Contains(q.RequestURI, "resourceVersion=0"):
			t.Errorf("a list from a cache of unknown age: %s", q.RequestURI)
		case q.Verb == "delete" && !strings.Contains(string(q.RequestObject), `"preconditions":{"uid":"`):
			t.Errorf("a delete without precondition: %s %s", q.RequestURI, q.RequestObject)
		case q.Verb == "patch" && q.ObjectRef.Resource == "tfjobs" && q.ObjectRef.Subresource == "" && !slices.Contains(ledgers, q.ObjectRef.Namespace):
			t.Errorf("a ledger for a job that deletes no pod: %s", q.RequestURI)
		case q.ResponseStatus.Code == http.StatusForbidden && !strings.Contains(q.RequestURI, "/namespaces/deleted/"):
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		case q.ResponseStatus.Code >= 500:
			t.Logf("the API server failed: %d %s %s", q.ResponseStatus.Code, q.Verb, q.RequestURI)
		}
	}
	checkQuiet(t, r)
}

// tellsOfPruning: a CRD that prunes a field of the status causes a gauge and one log line, and the operator stays ready.
func (r *rig) tellsOfPruning(t *testing.T, p *process) {
	t.Helper()
	want := 1.0
	if r.keepsGeneration {
		want = 0
	}
	if n, found := p.metric(t, "training_operator_status_pruned", `kind="`+r.kind.Name+`"`); !found || n != want {
		t.Errorf("training_operator_status_pruned is %v, %v, want %v", n, found, want)
	}
	if lines := strings.Count(p.Text(), "the API server does not keep all of the status"); lines != int(want) {
		t.Errorf("%d lines of the log tell of fields that are not kept, want %v", lines, want)
	} else if lines == 1 && !strings.Contains(p.Text(), `"fields":["status.observedGeneration"]`) {
		t.Error("the line does not name the field")
	}
	if code := p.Probe(t.Context(), "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz answers %d", code)
	}
}

// checkQuiet: an operator that serves all that the scenarios have left, finished, rejected and refused jobs, writes nothing once
// it has reconciled each.
func checkQuiet(t *testing.T, r *rig) {
	ns := r.namespace(t, "quiet")
	p := r.operator(t, "")
	r.apply(t, ns, manifest("canary", worker("", "")))
	r.awaitState(t, ns, "canary", training.Succeeded)
	await(t, "all keys and events to be worked off", func() (bool, string) {
		keys, _ := p.metric(t, "workqueue_depth", `name="`+r.kind.Controller+`"`)
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds", `name="`+r.kind.Controller+`"`)
		events, _ := p.metric(t, "training_operator_events_backlog")
		return keys == 0 && busy == 0 && events == 0, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
	})
	r.tellsOfPruning(t, p)
	before := r.requests(t)
	jobs, err := r.jobs("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Each job is a key, and is added at least once.
	if passes, _ := p.metric(t, "workqueue_adds_total", `name="tfjob-controller"`); passes < float64(len(jobs.Items)) || len(jobs.Items) == 0 {
		t.Fatalf("the operator has looked at %v keys only, of %d jobs", passes, len(jobs.Items))
	}
	began := time.Now()
	for end := began.Add(3 * time.Second); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond) // absence cannot be awaited, only watched for a while
	}
	// A rejected request is retried after ten seconds and more (controller, firstProbe).
	most := 1 + int(time.Since(began)/(10*time.Second))
	refused := map[string]int{}
	for _, q := range writes(r.requests(t))[len(writes(before)):] {
		what := q.Verb + " " + q.RequestURI + " " + q.ObjectRef.Name
		if refused[what]++; q.ResponseStatus.Code < 400 || refused[what] > most {
			t.Errorf("a write while nothing was going on: %s, answered %d, for the %d. time", what, q.ResponseStatus.Code, refused[what])
		}
	}
}

func writes(requests []audited) []audited {
	return slices.DeleteFunc(slices.Clone(requests), func(q audited) bool {
		return q.Verb == "get" || q.Verb == "list" || q.Verb == "watch"
	})
}

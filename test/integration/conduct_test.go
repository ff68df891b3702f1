package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/schema"
)

// conduct reads in the API server's audit log what the operator did in all scenarios.
func conduct(t *testing.T, r *rig) {
	ledgers := []string{"restarted", "counted", "wiped", "happy"} // scenarios in which replicas are restarted, or finished jobs cleaned up
	requests := r.requests(t)
	if len(requests) < 100 {
		t.Fatalf("the audit log has %d requests of the operator; it should have hundreds", len(requests))
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

// checkQuiet: an operator that serves all that the scenarios have left, finished, rejected and refused jobs, writes
// nothing once it has looked at each.
func checkQuiet(t *testing.T, r *rig) {
	ns := r.namespace(t, "quiet")
	p := r.operator(t, "")
	r.apply(t, ns, manifest("canary", worker("", "")))
	r.awaitState(t, ns, "canary", schema.Succeeded)
	await(t, "all keys and events to be worked off", func() (bool, string) {
		keys, _ := p.metric(t, "workqueue_depth", `name="`+r.kind.Controller+`"`)
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds", `name="`+r.kind.Controller+`"`)
		events, _ := p.metric(t, "training_operator_events_backlog")
		return keys == 0 && busy == 0 && events == 0, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
	})
	before := r.requests(t)
	if passes, _ := p.metric(t, "workqueue_adds_total", `name="tfjob-controller"`); passes < 30 {
		t.Fatalf("the operator has looked at %v keys only", passes)
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond) // absence cannot be awaited, only watched for a while
	}
	// A job that somebody else keeps from running may be looked after, seldom.
	refused := 0
	for _, q := range writes(r.requests(t))[len(writes(before)):] {
		if refused++; q.ResponseStatus.Code < 400 || refused > 5 {
			t.Errorf("a write while nothing was going on: %s %s, answered %d", q.Verb, q.RequestURI, q.ResponseStatus.Code)
		}
	}
}

func writes(requests []audited) []audited {
	return slices.DeleteFunc(slices.Clone(requests), func(q audited) bool {
		return q.Verb == "get" || q.Verb == "list" || q.Verb == "watch"
	})
}

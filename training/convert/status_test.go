package convert

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// reread writes a status as JSON and reads it back from an object.
func reread(t rapid.TB, status any) training.Status {
	t.Helper()
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := kjson.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	return Object(kinds.TFJob(), &unstructured.Unstructured{Object: raw}).Status
}

// TestStatusRoundTrip: a status that the operator may write is read back unchanged, and is not Unclean.
func TestStatusRoundTrip(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) metav1.Time {
		return metav1.Unix(rapid.Int64Range(1, 4e9).Draw(t, "seconds"), 0)
	})
	condition := func(name training.ConditionType) *rapid.Generator[training.Condition] {
		return rapid.Custom(func(t *rapid.T) training.Condition {
			return training.Condition{
				Type:           name,
				Status:         rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"),
				Reason:         rapid.StringMatching(`[A-Z][A-Za-z]{0,30}`).Draw(t, "reason"),
				Message:        schema.Clean(rapid.String().Draw(t, "message"), schema.MaxSummary),
				LastUpdateTime: moment.Draw(t, "updated"), LastTransitionTime: moment.Draw(t, "changed"),
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		var want training.Status
		for _, name := range rapid.Permutation([]training.ConditionType{training.Stalled, training.Created, training.Running, training.Restarting,
			training.Suspended, training.Succeeded, training.Failed}).Draw(t, "conditions")[:rapid.IntRange(0, 7).Draw(t, "how many")] {
			want.Conditions = append(want.Conditions, condition(name).Draw(t, "condition"))
		}
		count := rapid.Int32Range(0, 1<<31-1)
		for _, rtype := range kinds.TFJob().ReplicaTypes {
			if rapid.Bool().Draw(t, "has "+rtype.Name) {
				if want.ReplicaStatuses == nil {
					want.ReplicaStatuses = map[string]training.ReplicaStatus{}
				}
				want.ReplicaStatuses[rtype.Name] = training.ReplicaStatus{Active: count.Draw(t, "active"), Succeeded: count.Draw(t, "succeeded"),
					Failed: count.Draw(t, "failed"), Selector: rapid.StringMatching(`[a-z=,/.]{0,40}`).Draw(t, "selector")}
			}
		}
		want.StartTime = rapid.Ptr(moment, true).Draw(t, "start")
		want.CompletionTime = rapid.Ptr(moment, true).Draw(t, "completion")
		want.LastReconcileTime = rapid.Ptr(moment, true).Draw(t, "reconcile")
		want.ObservedGeneration = rapid.Int64Range(0, 1<<62).Draw(t, "generation")
		if diff := cmp.Diff(want, reread(t, want)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func TestStatusIsReadLeniently(t *testing.T) {
	good := `{"type":"Running","status":"True","reason":"TFJobRunning","lastUpdateTime":"2026-01-02T03:04:05Z","lastTransitionTime":null}`
	running := training.Condition{Type: "Running", Status: "True", Reason: "TFJobRunning", LastUpdateTime: metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	unclean := training.Status{Unclean: true}
	at := metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, status string
		want         training.Status
	}{
		{"null", `null`, training.Status{}},
		{"empty", `{}`, training.Status{}},
		{"nulls", `{"conditions":null,"replicaStatuses":null,"startTime":null,"observedGeneration":null}`, training.Status{}},
		{"empties", `{"conditions":[],"replicaStatuses":{}}`, training.Status{}},
		{"a replica type without counts", `{"replicaStatuses":{"Worker":{}}}`, training.Status{ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {}}}},
		{"reconcile time", `{"lastReconcileTime":"2026-01-02T03:04:05Z"}`, training.Status{LastReconcileTime: &at}},
		{"not an object", `"Running"`, unclean},
		{"unknown field", `{"phase":"Running"}`, unclean},
		{"conditions not a list", `{"conditions":{"type":"Failed"}}`, unclean},
		{"condition not an object", `{"conditions":["Running",null]}`, unclean},
		{"condition of another controller", `{"conditions":[{"type":"QuotaReserved","status":"True"},` + good + `]}`, training.Status{Conditions: []training.Condition{running}, Unclean: true}},
		{"condition without status", `{"conditions":[{"type":"Failed"}]}`, unclean},
		{"condition with a strange status", `{"conditions":[{"type":"Failed","status":"Maybe"}]}`, unclean},
		{"condition with a boolean status", `{"conditions":[{"type":"Failed","status":true}]}`, unclean},
		{"condition with another field", `{"conditions":[` + strings.Replace(good, "{", `{"x":1,`, 1) + `]}`, training.Status{Conditions: []training.Condition{running}, Unclean: true}},
		{"a condition twice", `{"conditions":[{"type":"Running","status":"False"},` + good + `,{"type":"Running","status":3}]}`, training.Status{Conditions: []training.Condition{running}, Unclean: true}},
		{"a message of two lines", `{"conditions":[` + strings.Replace(good, "{", `{"message":"a\nb",`, 1) + `]}`,
			training.Status{Conditions: []training.Condition{{Type: "Running", Status: "True", Reason: "TFJobRunning", Message: "a b", LastUpdateTime: at}}, Unclean: true}},
		{"counts out of range", `{"replicaStatuses":{"Worker":{"active":-1,"succeeded":2147483648,"failed":1.5}}}`,
			training.Status{ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {}}, Unclean: true}},
		{"counts of another type", `{"replicaStatuses":{"Worker":{"active":"1","selector":2,"x":3}}}`,
			training.Status{ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {}}, Unclean: true}},
		{"unknown replica types", `{"replicaStatuses":{"worker":{"active":1},"Foo":{}}}`, unclean},
		{"a null replica type", `{"replicaStatuses":{"Worker":null}}`, unclean},
		{"a replica type that is none", `{"replicaStatuses":{"Worker":[]}}`, training.Status{ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {}}, Unclean: true}},
		{"no time", `{"startTime":"yesterday","completionTime":3}`, unclean},
		{"a time before all", `{"startTime":"0001-01-01T00:00:00Z","completionTime":"0000-01-01T00:00:00+23:59"}`, unclean},
		{"a time after all", `{"startTime":"9999-12-31T23:59:59-01:00"}`, unclean},
		{"a time in another form", `{"startTime":"2026-01-02T04:04:05.7+01:00"}`, training.Status{StartTime: &at, Unclean: true}},
		{"a negative generation", `{"observedGeneration":-1}`, unclean},
		{"a huge generation", `{"observedGeneration":1e300}`, unclean},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, reread(t, json.RawMessage(c.status))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestStatusIsBounded(t *testing.T) {
	conditions := make([]any, 10000)
	for i := range conditions {
		conditions[i] = map[string]any{"type": fmt.Sprint("T", i), "status": "True"}
	}
	conditions[0] = map[string]any{"type": "Created", "status": "True"}
	conditions[9999] = map[string]any{"type": "Failed", "status": "True", "message": strings.Repeat("ü", 1<<20), "reason": strings.Repeat("R", 1<<20)}
	got := reread(t, map[string]any{"conditions": conditions})
	if len(got.Conditions) != 1 || !got.Is(training.Failed) || !got.Unclean {
		t.Errorf("got %d conditions, unclean %t", len(got.Conditions), got.Unclean)
	}
	if c := got.Conditions[0]; len(c.Message) > messageLimit || len(c.Reason) > reasonLimit {
		t.Errorf("%d, %d bytes", len(c.Message), len(c.Reason))
	}
}

// checkStatus checks the bounds of a status, because it is written back and used in calculations.
func checkStatus(t rapid.TB, kind *training.Kind, s training.Status) {
	t.Helper()
	if len(s.Conditions) > 7 || len(s.ReplicaStatuses) > len(kind.ReplicaTypes) || s.ObservedGeneration < 0 {
		t.Fatalf("out of bounds: %+v", s)
	}
	for _, c := range s.Conditions {
		if len(c.Message) > messageLimit || len(c.Reason) > reasonLimit || strings.ContainsAny(c.Message+c.Reason, "\n\x00\u202e") || !utf8.ValidString(c.Message+c.Reason) {
			t.Fatalf("condition %+v", c)
		}
	}
	for rtype, r := range s.ReplicaStatuses {
		if r.Active < 0 || r.Succeeded < 0 || r.Failed < 0 || len(r.Selector) > selectorLimit {
			t.Fatalf("%s: %+v", rtype, r)
		}
	}
}

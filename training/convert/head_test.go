package convert

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// ledgerIn reads the ledger of an object with UID "u" that has these annotations.
func ledgerIn(annotations any) training.Ledger {
	return Object(kinds.TFJob(), &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "j", "uid": "u", "annotations": annotations}}}).Ledger
}

func TestLedger(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	over := training.Ledger{Job: "u", Restarts: 1, Terminal: training.Failed, At: &at}
	type failed = map[string]training.Failure
	full := training.Ledger{Job: "u", Restarts: 3, Failed: failed{"worker-0": {Pod: "p", ConsecutiveFailures: 2}}}
	done := training.Ledger{Job: "u", Restarts: 1, Succeeded: map[string]training.Indices{"worker": {{First: 0, Last: 3}, {First: 7, Last: 7}}, "ps": {{First: 0, Last: 0}}}}
	last := training.Ledger{Job: "u", Terminal: training.Failed, At: &at, LastFailure: &training.FailedPod{Pod: "j-worker-1", Container: "main", Init: true, ExitCode: 137,
		Signal: 9, Reason: "OOMKilled", Disruption: "TerminationByKubelet", Node: "gpu-7", At: &at}}
	failure := func(f training.FailedPod) training.Ledger { return training.Ledger{Job: "u", LastFailure: &f} }
	of := func(total int64) training.Ledger { return training.Ledger{Job: "u", Restarts: total} }
	for text, want := range map[string]training.Ledger{
		string(schema.JSON(full)):               full,
		string(schema.JSON(over)):               over,
		string(schema.JSON(done)):               done,
		string(schema.JSON(last)):               last,
		`{"job":"u","lastFailure":{"pod":"p"}}`: failure(training.FailedPod{Pod: "p"}),
		`{"job":"u","lastFailure":{"pod":"p\u0000\n","container":7,"exitCode":"1","signal":1e99,"init":1}}`: failure(training.FailedPod{Pod: "p  "}),
		`{"job":"u","lastFailure":{"pod":"p","exitCode":-3,"node":[],"reason":{},"at":"soon"}}`:             failure(training.FailedPod{Pod: "p", ExitCode: -3}),
		`{"job":"u","lastFailure":{"pod":"p","reason":"` + strings.Repeat("r", 5000) + `"}}`: failure(training.FailedPod{Pod: "p",
			Reason: schema.Clean(strings.Repeat("r", 5000), training.MaxFailedReason)}),
		`{"job":"u","lastFailure":{"container":"main","exitCode":1}}`: of(0),
		`{"job":"u","lastFailure":"p"}`:                               of(0),
		`{"job":"u","lastFailure":[{"pod":"p"}]}`:                     of(0),
		`{"job":"u","disruptions":3}`:                                 {Job: "u", Disruptions: 3},
		`{"job":"u","disruptions":-3}`:                                of(0),
		`{"job":"u","disruptions":1e400}`:                             {Job: "u", Disruptions: training.MaxCount},
		`{"job":"u","disruptions":"3"}`:                               of(0),
		`{"job":"u","lastFailure":null}`:                              of(0),
		`{"job":"u","succeeded":{"worker":"0,1,7-3,x","ps":7,"boss":"0","Worker":"1","chief":"","master":null}}`: {
			Job: "u", Succeeded: map[string]training.Indices{"worker": {{First: 0, Last: 1}}}},
		`{"job":"u","succeeded":{"worker":"0-19999","ps":"0"}}`: { // more than a job may have: the first in order of replica types
			Job: "u", Succeeded: map[string]training.Indices{"ps": {{First: 0, Last: 0}}}},
		`{"job":"u","succeeded":["worker"]}`:                            of(0),
		`{"job":"u","succeeded":"worker"}`:                              of(0),
		`{"job":"u","verdict":"Succeeded"}`:                             {Job: "u", Terminal: training.Succeeded},
		`{"job":"u","verdict":"Succeeded","at":"yesterday"}`:            {Job: "u", Terminal: training.Succeeded},
		`{"job":"u","verdict":"Succeeded","at":7}`:                      {Job: "u", Terminal: training.Succeeded},
		`{"job":"u","verdict":"succeeded","at":"2026-01-01T00:00:00Z"}`: of(0),
		`{"job":"u","verdict":["Failed"]}`:                              of(0),
		`{"job":"u","verdict":"Running"}`:                               of(0),
		`{"job":"u"}`:                                                   of(0),
		`{"job":"u","restarts":7}`:                                      of(7),
		`{"job":"other","restarts":7}`:                                  {}, // came with a copied manifest
		`{"restarts":7}`:                                                {},
		`{"job":"","restarts":7}`:                                       {},
		`{"job":7,"restarts":7}`:                                        {},
		``:                                                              {},
		`nonsense`:                                                      {},
		`null`:                                                          {},
		`[{"job":"u"}]`:                                                 {},
		`{"job":"u","restarts":7}}`:                                     {},
		`{"job":"u","restarts":-7}`:                                     of(0),
		`{"job":"u","restarts":2147483648}`:                             of(training.MaxCount),
		`{"job":"u","restarts":1e400}`:                                  of(training.MaxCount),
		`{"job":"u","restarts":-1e400}`:                                 of(0),
		`{"job":"u","restarts":` + strings.Repeat("9", 1000) + `}`:      of(training.MaxCount),
		`{"job":"u","restarts":1.9}`:                                    of(1),
		`{"job":"u","restarts":"7"}`:                                    of(0),
		`{"job":"u","restarts":null}`:                                   of(0),
		`{"job":"u","restarts":{},"failed":7,"x":[[]]}`:                 of(0),
		`{"failed":{"a":7,"b":null,"c":{},"d":{"pod":1},"e":{"pod":"p","row":-1},"f":{"pod":"p","row":[]}},"job":"u","restarts":1}`: {
			Job: "u", Restarts: 1, Failed: failed{"e": {Pod: "p"}, "f": {Pod: "p"}}},
	} {
		if diff := cmp.Diff(want, ledgerIn(map[string]any{training.AnnotationLedger: text})); diff != "" {
			t.Errorf("%.100s (-want +got):\n%s", text, diff)
		}
	}
	for _, annotations := range []any{nil, 7, "x", []any{}, map[string]any{}, map[string]any{training.AnnotationLedger: 7}} {
		if got := ledgerIn(annotations); !reflect.DeepEqual(got, training.Ledger{}) {
			t.Errorf("%v: %+v", annotations, got)
		}
	}
}

// A full ledger is read back completely; a larger one is cut deterministically; a huge one is ignored.
func TestLedgerIsBounded(t *testing.T) {
	many := training.Ledger{Job: "u", Restarts: training.MaxCount, Failed: map[string]training.Failure{}}
	var odd training.Indices
	for i := 1; i < training.MaxReplicas; i += 2 {
		odd = odd.Append(i)
	}
	many.LastFailure = &training.FailedPod{Pod: strings.Repeat("p", training.MaxFailedName), Container: strings.Repeat("c", training.MaxFailedName),
		Node: strings.Repeat("n", training.MaxFailedName), Reason: strings.Repeat("r", training.MaxFailedReason), Disruption: strings.Repeat("d", training.MaxFailedReason)}
	many.Succeeded = map[string]training.Indices{"worker": odd}
	fill := func(n int) string {
		for i := range n {
			many.Failed[fmt.Sprintf("evaluator-%05d", i)] = training.Failure{Pod: types.UID(strings.Repeat("u", 36)), ConsecutiveFailures: training.MaxCount}
		}
		return string(schema.JSON(many))
	}
	text := fill(training.MaxLedger)
	if len(text) > ledgerLimit/2 {
		t.Errorf("a full ledger has %d bytes of at most %d", len(text), ledgerLimit)
	}
	if diff := cmp.Diff(many, ledgerIn(map[string]any{training.AnnotationLedger: text})); diff != "" {
		t.Errorf("a full ledger (-written +read):\n%s", diff)
	}
	first := ledgerIn(map[string]any{training.AnnotationLedger: text})
	if got := ledgerIn(map[string]any{training.AnnotationLedger: fill(2 * training.MaxLedger)}); !cmp.Equal(got, first) {
		t.Errorf("of too many the first must be kept, not %d", len(got.Failed))
	}
	if got := ledgerIn(map[string]any{training.AnnotationLedger: fill(10 * training.MaxLedger)}); !cmp.Equal(got, training.Ledger{}) {
		t.Errorf("%d bytes are read", len(schema.JSON(many)))
	}
}

// Whatever the annotation, the result is within bounds and deterministic, and a written ledger is read back unchanged.
func checkLedger(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string,
) {
	t.Helper()
	annotations := map[string]any{training.AnnotationLedger: text}
	got := ledgerIn(annotations)
	if got.Job != "u" && !reflect.DeepEqual(got, training.Ledger{}) || got.Restarts < 0 || got.Restarts > training.MaxCount || got.Disruptions < 0 || got.Disruptions > training.MaxCount || len(got.Failed) > training.MaxLedger {
		t.Fatalf("%q is read as %+v", text, got)
	}
	succeeded := 0
	for _, indices := range got.Succeeded {
		succeeded += indices.Count()
	}
	if succeeded > training.MaxReplicas {
		t.Fatalf("%q is read as %d successes", text, succeeded)
	}
	for _, failure := range got.Failed {
		if failure.ConsecutiveFailures < 0 || failure.ConsecutiveFailures > training.MaxCount || failure.Pod == "" {
			t.Fatalf("%q is read as %+v", text, got)
		}
	}
	if f := got.LastFailure; f != nil && (f.Pod == "" || max(len(f.Pod), len(f.Container), len(f.Node)) > training.MaxFailedName || max(len(f.Reason), len(f.Disruption)) > training.MaxFailedReason) {
		t.Fatalf("%q is read as %+v", text, f)
	}
	if again := ledgerIn(annotations); !cmp.Equal(got, again) {
		t.Fatalf("%q is read as %+v, then as %+v", text, got, again)
	}
	if got.Job == "u" {
		written := string(schema.JSON(got))
		if again := ledgerIn(map[string]any{training.AnnotationLedger: written}); len(written) <= ledgerLimit && !cmp.Equal(got, again) {
			t.Fatalf("%+v is written as %s and read as %+v", got, written, again)
		}
	}
}

func FuzzLedger(f *testing.F) {
	f.Add(`{"job":"u","restarts":3,"failed":{"worker-0":{"pod":"p","row":2}}}`)
	f.Add(`{"job":"u","restarts":1e999,"failed":{"":{"pod":"p","row":-0.5e1}}}`)
	f.Add(`{"job":"u","restarts":3,"succeeded":{"worker":"0-3,7","ps":"bitmap:jw"}}`)
	f.Add(`{"job":"u","restarts":3,"verdict":"Failed","at":"2026-01-01T00:00:00Z"}`)
	f.Add(`{"job":"u","restarts":1,"lastFailure":{"pod":"p","container":"c","init":true,"exitCode":137,"signal":9,"reason":"OOMKilled","disruption":"x","node":"n","at":"2026-01-01T00:00:00Z"}}`)
	f.Add(`{"job":"u","restarts":0,"disruptions":2,"failed":{"worker-0":{"pod":"p","row":2}}}`)
	f.Add(`{"job":"u","lastFailure":{"pod":"\u202e\n","exitCode":1e99,"init":"yes","at":"9999-12-31T23:59:59-10:00"}}`)
	f.Add(`{"JOB":"u","job":"u","restarts":0,"restarts":` + strings.Repeat("[", 5000))
	f.Fuzz(func(t *testing.T, text string) { checkLedger(t, text) })
}

package workload

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/bench/report"
	"stoic/test/bench/wire"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

func reported(name string, conditions ...wire.Condition) *wire.Job {
	j := &wire.Job{Metadata: wire.Meta{Name: name}}
	j.Status.Conditions = conditions
	return j
}

func pod(job, name string) *wire.Object {
	return &wire.Object{Metadata: wire.Meta{Name: name, Labels: map[string]string{training.LabelJob: job}}}
}

// TestWatcher: the first observation counts, and its time does not change.
func TestWatcher(t *testing.T) {
	w := newWatcher(measured, kinds.All())
	w.ask("a", 2)
	w.ask("b", 1)
	at := func(seconds int) time.Time { return w.jobs["a"].asked.Add(time.Duration(seconds) * time.Second) }
	w.pod("ADDED", pod("a", "a-0"), at(1))
	w.pod("MODIFIED", pod("a", "a-0"), at(1))
	w.pod("ADDED", pod("a", "a-1"), at(2))
	w.pod("ADDED", pod("stranger", "s"), at(2))
	w.pod("DELETED", pod("a", "a-0"), at(3))
	w.pod("ADDED", pod("a", "a-0"), at(4))
	is := func(kind string) wire.Condition { return wire.Condition{Type: kind, Status: "True"} }
	w.job("MODIFIED", reported("a", is("Created"), is("Running")), at(5))
	w.job("MODIFIED", reported("a", is("Created"), is("Running")), at(6))
	w.job("MODIFIED", reported("a", is("Created"), wire.Condition{Type: "Running", Status: "False"}, is("Succeeded")), at(7))
	w.job("MODIFIED", reported("b", is("Failed")), at(8))
	w.job("MODIFIED", reported("stranger", is("Failed")), at(8))
	w.job("DELETED", reported("a"), at(9))
	if c, _ := w.progress(); c != (counts{asked: 2, made: 1, running: 1, ended: 2, gone: 1}) {
		t.Errorf("%+v", c)
	}
	if n := w.unseen(); n != 1 || w.peak() != 3 {
		t.Errorf("%d never seen, %d pods", n, w.peak())
	}
	a := w.jobs["a"]
	if a.made != at(2) || a.running != at(5) || a.ended != at(7) || a.terminal != training.Succeeded || a.gone != at(9) {
		t.Errorf("%+v", a)
	}
	if got := w.times(func(s *sight) time.Time { return s.made }); len(got) != 1 || got[0] != 2*time.Second {
		t.Errorf("times %v", got)
	}
	w.podFailure("MODIFIED", pod("b", "b-0"), at(1))
	if w.failureReported("b", "b-0") {
		t.Error("a change of a failed pod is its death")
	}
	w.podFailure("ADDED", pod("b", "b-0"), at(7))
	if !w.failureReported("b", "b-0") || w.reportTook("b", "b-0") != time.Second {
		t.Errorf("told after %v", w.reportTook("b", "b-0"))
	}
}

// TestEachKind: the workload of all kinds has valid jobs of each, with as many pods as the standard job.
func TestEachKind(t *testing.T) {
	standard := shape{servers: 1, workers: 4, runs: time.Second, exit: "0"}
	shapes := ofEachKind(standard)
	if len(shapes) != len(kinds.All()) {
		t.Fatalf("%d shapes", len(shapes))
	}
	for _, s := range shapes {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(s.body("j")); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(measured)
		got := convert.Object(s.kind, u)
		if got.Rejection != nil || len(got.Warnings) > 0 {
			t.Fatalf("%s: %+v %+v", s.kind.Name, got.Rejection, got.Warnings)
		}
		if got.Job.Replicas() != standard.pods() {
			t.Errorf("%s: %d replicas, want %d", s.kind.Name, got.Job.Replicas(), standard.pods())
		}
	}
}

// TestShapes: healthy jobs convert without a warning, and malformed ones do not convert.
func TestShapes(t *testing.T) {
	object := func(body []byte) *convert.Result {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(measured)
		return convert.Object(kinds.TFJob(), u)
	}
	for name, s := range map[string]shape{
		"standard": {servers: 1, workers: 4, runs: time.Second, exit: "0"}, "for ever": {workers: 1}, "retries": {workers: 1, runs: time.Second, exit: "137", retries: 2},
		"wide": {workers: sparseFrom}, "sparse": {workers: 5000, sparse: true},
	} {
		got := object(s.body("j"))
		if got.Rejection != nil || len(got.Warnings) > 0 {
			t.Fatalf("%s: %+v %+v", name, got.Rejection, got.Warnings)
		}
		if got.Job.Replicas() != s.pods() {
			t.Errorf("%s: %d replicas, want %d", name, got.Job.Replicas(), s.pods())
		}
	}
	if got := object(malformed("j")); got.Rejection == nil {
		t.Error("the malformed job is a job")
	}
}

func TestDropped(t *testing.T) {
	for text, want := range map[string]struct {
		lost  float64
		known bool
	}{
		"":                 {0, false},
		"other_metric 3\n": {0, false},
		"# HELP\ntraining_operator_events_total{result=\"sent\"} 7\n": {0, true},
		"training_operator_events_total{result=\"late\"} 2\ntraining_operator_events_total{result=\"refused\"} 1\ntraining_operator_events_total{result=\"dropped\"} 4\n": {7, true},
	} {
		if lost, known := dropped(text); lost != want.lost || known != want.known {
			t.Errorf("%q: %v, %v", text, lost, known)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		size  int
		scale float64
		want  int
	}{{0, 1, 0}, {0, 5, 0}, {1000, 1, 1000}, {1000, 0.1, 100}, {30, 0.001, 1}, {5, 0.5, 3}} {
		if got := scaled(c.size, c.scale); got != c.want {
			t.Errorf("%v of %d is %d, want %d", c.scale, c.size, got, c.want)
		}
	}
}

// TestNames: every workload has a unique name and increasing sizes; the bare client runs at existing sizes.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name] || len(w.Sizes) == 0 || !w.Has(report.Stoic, w.Sizes[0]) {
			t.Errorf("%+v", w)
		}
		seen[w.Name] = true
		for i, size := range w.Sizes {
			if i > 0 && size <= w.Sizes[i-1] {
				t.Errorf("%s: sizes %v", w.Name, w.Sizes)
			}
		}
		if others := w.Name == "kinds" || strings.HasPrefix(w.Name, "mpi"); w.Has(report.Limit, w.Sizes[0]) == others {
			t.Errorf("%s: compared with the bare client: %t", w.Name, !others)
		}
	}
	for _, b := range report.Budgets() {
		if !seen[b.Workload] {
			t.Errorf("a budget of %q, which is no workload", b.Workload)
		}
	}
}

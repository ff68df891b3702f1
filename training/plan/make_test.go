package plan

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

func TestNothingObserved(t *testing.T) {
	for name, o := range map[string]Observed{
		"nothing":            {},
		"a head without job": {Head: &training.Head{Kind: kinds.TFJob()}},
	} {
		if diff := gocmp.Diff(Plan{}, Make(o)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	w := newCluster()
	w.problems = []schema.Problem{{}}
	o := w.observe()
	o.Rejection.Problems = nil // must not be; must not hurt
	if p := Make(o); p.Status == nil || len(p.Count) != 1 {
		t.Errorf("got %+v", p)
	}
}

func TestWhatAnotherControllerRunsIsNotRejected(t *testing.T) {
	w := newCluster()
	w.problems = []schema.Problem{{}}
	o := w.observe()
	o.Head.ManagedBy = training.ManagedByMultiKueue
	if diff := gocmp.Diff(Plan{}, Make(o)); diff != "" {
		t.Error(diff)
	}
}

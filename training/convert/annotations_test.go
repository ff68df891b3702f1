package convert

import (
	"testing"

	"stoic/schema"
	"stoic/training"
)

// TestEvaluatorGrace: the annotation is a whole number of seconds, at most a day. Any other value is ignored, with a warning.
func TestEvaluatorGrace(t *testing.T) {
	const place = `metadata.annotations["training.kubeflow.org/evaluator-grace-seconds"]`
	for value, want := range map[any]int64{"1": 1, "600": 600, "86400": 86400, "0": 0, "86401": 0, "-1": 0, "": 0, "10m": 0, "1.5": 0, " 1": 0,
		"99999999999999999999": 0} {
		raw := sound(t)
		apply(t, raw, change{place: value})
		got := check(t, raw)
		if got.Job.Grace.Duration.Value != want || want > 0 && got.Job.Grace.ReplicaType != "Evaluator" {
			t.Errorf("%q: %+v, want %d", value, got.Job.Grace, want)
		}
		outcomeWanted := run
		if want == 0 {
			outcomeWanted = warn(schema.InvalidValue, place)
		}
		if got := outcome(got); got != outcomeWanted {
			t.Errorf("%q: %s, want %s", value, got, outcomeWanted)
		}
	}
	if got := check(t, sound(t)).Job.Grace; got != (training.Grace{}) {
		t.Errorf("without the annotation: %+v", got)
	}
}

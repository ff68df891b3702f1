package training_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/training"
)

func TestPrioritiesOf(t *testing.T) {
	class := func(name string, value int32, isDefault bool) schema.Child {
		return schema.Child{Name: name, Object: training.PriorityState{Value: value, GlobalDefault: isDefault}}
	}
	got := training.PrioritiesOf(schema.Children{Items: []schema.Child{class("high", 100, false), class("usual", 7, true), class("low", 3, true), {Name: "odd"}}})
	if diff := cmp.Diff(training.Priorities{"high": 100, "usual": 7, "low": 3, "": 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := training.PrioritiesOf(schema.Children{Unknown: true}); got != nil {
		t.Errorf("classes that cannot be read: %v, want nil", got)
	}
	if got := training.PrioritiesOf(schema.Children{}); got == nil || len(got) > 0 {
		t.Errorf("no classes: %v, want none, but known", got)
	}
}

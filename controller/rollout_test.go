package controller

import (
	"math"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"stoic/convert"
)

func TestRolloutBounds(t *testing.T) {
	for _, c := range []struct {
		n                  int
		maxSurge, maxUnav  string
		surge, unavailable int
	}{
		{10, "25%", "25%", 3, 2},
		{3, "1", "9", 1, 3},
		{3, "0", "25%", 0, 1},
		{3, "0%", "0", 0, 1},
		{0, "25%", "25%", 0, 0},
		{0, "2", "2", 2, 0},
		{4, "200%", "100%", 8, 4},
		{4, "one", "-1", 0, 1},
		{4, "", "50", 0, 4},
	} {
		surge, unavailable := RolloutBounds(c.n, intstr.Parse(c.maxSurge), intstr.Parse(c.maxUnav))
		if surge != c.surge || unavailable != c.unavailable {
			t.Errorf("%d, %q, %q: %d more and %d fewer, want %d and %d", c.n, c.maxSurge, c.maxUnav, surge, unavailable, c.surge, c.unavailable)
		}
	}
}

// TestRolloutBoundsReplace: whatever the values are, a roll-out of any pods may replace one, and removes no more than there are.
func TestRolloutBoundsReplace(t *testing.T) {
	value := rapid.OneOf(rapid.Map(rapid.Int32(), intstr.FromInt32), rapid.Map(rapid.StringMatching(`[0-9]{1,4}%|.{0,4}`), intstr.FromString))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, math.MaxInt32).Draw(t, "n")
		surge, unavailable := RolloutBounds(n, value.Draw(t, "maxSurge"), value.Draw(t, "maxUnavailable"))
		if surge < 0 || unavailable < 0 || unavailable > n || n > 0 && surge+unavailable == 0 {
			t.Fatalf("%d pods: %d more and %d fewer", n, surge, unavailable)
		}
	})
}

// TestSelectedBy: a well-formed object claims what its selector selects; a rejected one, and one with an invalid selector, claims nothing.
func TestSelectedBy(t *testing.T) {
	claims := SelectedBy(func(w *widget) *metav1.LabelSelector {
		if w.Name == "none" {
			return nil
		}
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOperator(w.Name), Values: []string{"a"}}}}
	})
	for operator, want := range map[string][2]bool{"In": {true, false}, "NotIn": {false, true}, "Between": {}, "none": {}} {
		var matches [2]bool
		if selector := claims(&convert.Result{Object: &widget{ObjectMeta: metav1.ObjectMeta{Name: operator}}}); selector != nil {
			matches = [2]bool{selector.Matches(labels.Set{"app": "a"}), selector.Matches(labels.Set{"app": "b"})}
		}
		if matches != want {
			t.Errorf("%s a: it claims a and b: %v, want %v", operator, matches, want)
		}
	}
	if selector := claims(&convert.Result{}); selector != nil {
		t.Errorf("a rejected object claims %s", selector)
	}
}

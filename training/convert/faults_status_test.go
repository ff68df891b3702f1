package convert

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"stoic/convert"
	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/kinds"
)

// full returns a status as the operator writes it.
func full() map[string]any {
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "TFJob" + kind, "message": "a", "lastUpdateTime": "2026-01-02T03:04:05Z",
			"lastTransitionTime": "2026-01-02T03:04:05Z"}
	}
	return map[string]any{
		"conditions":      []any{condition("Created", "True"), condition("Running", "False"), condition("Succeeded", "True")},
		"replicaStatuses": map[string]any{"Worker": map[string]any{"active": int64(1), "succeeded": int64(2), "failed": int64(3), "selector": "a=b"}},
		"startTime":       "2026-01-02T03:04:05Z", "completionTime": "2026-01-02T03:04:06Z", "lastReconcileTime": "2026-01-02T03:04:07Z", "observedGeneration": int64(4),
	}
}

// TestFaultStatus puts every mutation into every place of a status. It never changes the terminal condition or the job, the result
// is within bounds, and Unclean is set for anything that the operator would not write.
func TestFaultStatus(t *testing.T) {
	plain := sound(t)
	put(t, plain, "status", full())
	want := check(t, plain)
	if want.Status.Unclean || len(want.Status.Conditions) != 3 {
		t.Fatalf("%+v", want.Status)
	}
	whole := map[string]any{"status": full()}
	for _, n := range nodes(nil, whole) {
		place := n.at.String()
		for _, value := range mutations() {
			raw := sound(t)
			put(t, raw, "status", full())
			put(t, raw, place, untyped.Clone(value))
			got := check(t, raw)
			if outcome(got) != run || describe(got) != describe(want) {
				t.Fatalf("%s is %.60v: %s", place, value, describe(got))
			}
			checkStatus(t, got.Status)
			same := cmp.Equal(got.Status, want.Status)
			if _, gone := value.(untyped.Missing); !gone && value != nil && !same && !got.Status.Unclean && !plausible(place, value) {
				t.Errorf("%s is %.60v: taken as it is: %+v", place, value, got.Status)
			}
		}
	}
}

// plausible reports whether this or another version of the operator may have written a value.
func plausible(place string, value any) bool {
	number := isNumber(value)
	i, whole := convert.IntegerOf(value)
	_, text := value.(string)
	switch {
	case number:
		return whole && i >= 0 && (strings.HasSuffix(place, "observedGeneration") || strings.Contains(place, ".Worker."))
	case text:
		return strings.HasSuffix(place, ".reason") || strings.HasSuffix(place, ".message") || strings.HasSuffix(place, ".selector") || value == "" && strings.HasSuffix(place, "Time")
	}
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// checkStatus checks the bounds of a status, because it is written back and used in calculations.
func checkStatus(t *testing.T, s training.Status) {
	t.Helper()
	if len(s.Conditions) > 7 || len(s.ReplicaStatuses) > len(kinds.TFJob().ReplicaTypes) || s.ObservedGeneration < 0 {
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

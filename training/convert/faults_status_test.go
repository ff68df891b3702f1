package convert

import (
	"fmt"
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

// TestFaultStatusRows covers malicious statuses, and what is read of them.
func TestFaultStatusRows(t *testing.T) {
	condition := func(kind any, status any) any { return map[string]any{"type": kind, "status": status} }
	for _, c := range []struct {
		name   string
		status any
		want   string // types of conditions and their status, and whether it is clean
	}{
		{"10,000 conditions", map[string]any{"conditions": many(10000, func(i int) any { return condition(fmt.Sprint("T", i), "True") })}, "unclean"},
		{"10,000 times the same", map[string]any{"conditions": many(10000, func(int) any { return condition("Running", "True") })}, "Running=True unclean"},
		{"both terminal conditions", map[string]any{"conditions": []any{condition("Succeeded", "True"), condition("Failed", "True")}}, "Succeeded=True Failed=True"},
		{"a terminal condition in another case", map[string]any{"conditions": []any{condition("succeeded", "true")}}, "unclean"},
		{"a terminal condition with a space", map[string]any{"conditions": []any{condition("Succeeded ", "True")}}, "unclean"},
		{"a terminal condition that is a list", map[string]any{"conditions": []any{condition([]any{"Succeeded"}, "True")}}, "unclean"},
		{"nulls", map[string]any{"conditions": []any{nil, nil, condition("Failed", "True")}}, "Failed=True unclean"},
		{"replica types that are null", map[string]any{"replicaStatuses": map[string]any{"Worker": nil, "PS": nil}}, "unclean"},
		{"counts that wrap", map[string]any{"replicaStatuses": map[string]any{"Worker": map[string]any{"failed": int64(1 << 32)}}}, "unclean"},
		{"a start to come", map[string]any{"startTime": "9999-01-01T00:00:00Z"}, ""},
		{"a start before the epoch", map[string]any{"startTime": "1969-12-31T23:59:59Z"}, "unclean"},
		{"a start long ago", map[string]any{"startTime": "-2026-01-01T00:00:00Z"}, "unclean"},
		{"a leap second", map[string]any{"startTime": "2016-12-31T23:59:60Z"}, "unclean"},
		{"nanoseconds", map[string]any{"startTime": "2026-01-01T00:00:00.999999999Z"}, "unclean"},
		{"a list", []any{}, "unclean"},
		{"a text", "Succeeded", "unclean"},
		{"deep", untyped.Nested(10000), "unclean"},
	} {
		raw := sound(t)
		raw["status"] = c.status
		got := check(t, raw)
		checkStatus(t, got.Status)
		var parts []string
		for _, condition := range got.Status.Conditions {
			parts = append(parts, string(condition.Type)+"="+string(condition.Status))
		}
		if got.Status.Unclean {
			parts = append(parts, "unclean")
		}
		if got := strings.Join(parts, " "); outcome(check(t, raw)) != run || got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

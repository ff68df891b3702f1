package convert

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/test/untyped"
	"stoic/training/kinds"
)

// TestFlatIsNested: a flat field in the spec has the same effect, and the same problems, as in spec.runPolicy. If both are
// set, spec.runPolicy wins.
func TestFlatIsNested(t *testing.T) {
	values := append(mutations(), "All", "Running", "all", int64(3), int64(1<<40))
	plain := sound(t)
	rapid.Check(t, func(t *rapid.T) {
		job := func(spec map[string]any) map[string]any {
			raw, _ := untyped.Clone(plain).(map[string]any)
			maps.Copy(raw["spec"].(map[string]any), spec)
			return raw
		}
		flat, both := map[string]any{}, map[string]any{}
		policy := map[string]any{}
		for _, key := range flatFields() {
			value := rapid.SampledFrom(values).Draw(t, key)
			if _, ok := value.(untyped.Missing); ok {
				continue
			}
			flat[key], policy[key] = untyped.Clone(value), value
			if rapid.Bool().Draw(t, "both") {
				inBoth := rapid.SampledFrom([]any{"None", int64(7), "x"}).Draw(t, "nested")
				both[key], policy[key] = inBoth, inBoth
			}
		}
		if flat["runPolicy"] = both; len(both) == 0 {
			delete(flat, "runPolicy")
		}
		got, want := check(t, job(flat)), check(t, job(map[string]any{"runPolicy": policy}))
		if (got.Job == nil) != (want.Job == nil) {
			t.Fatalf("flat:\n%s\nnested:\n%s", describe(got), describe(want))
		}
		if got.Job != nil {
			if diff := cmp.Diff(want.Job.Policy, got.Job.Policy); diff != "" {
				t.Fatalf("-nested +flat:\n%s", diff)
			}
			return
		}
		said := func(problems []schema.Problem) (all []string) {
			for _, p := range problems {
				p.Path = strings.Replace(p.Path, "spec.runPolicy.", "spec.", 1)
				all = append(all, p.String())
			}
			slices.Sort(all)
			return all
		}
		if diff := cmp.Diff(said(want.Rejection.Problems), said(got.Rejection.Problems)); diff != "" {
			t.Fatalf("-nested +flat:\n%s", diff)
		}
	})
}

// TestFlatKinds: FlatPolicy is set for the kinds that had flat objects in v1.
func TestFlatKinds(t *testing.T) {
	for _, kind := range kinds.Served() {
		if want := kind.Name == "TFJob" || kind.Name == "PyTorchJob"; kind.FlatPolicy != want {
			t.Errorf("%s %s: %t, want %t", kind.Version, kind.Name, kind.FlatPolicy, want)
		}
		spec := objectOf(kind).Field("spec")
		for _, name := range flatFields() {
			if kind.FlatPolicy && (spec.Field(name) != nil || spec.Field("runPolicy").Field(name) == nil) {
				t.Errorf("%s: %s is a field of the spec, or none of the policy", kind.Name, name)
			}
		}
	}
}

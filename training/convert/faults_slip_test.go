package convert

import (
	"slices"
	"testing"

	"stoic/schema"
	"stoic/test/untyped"
)

// TestFaultMisspelt: if a required field is missing because it is misspelt, the rejection names the misspelt field. The
// warning about the unknown field alone would not be in the job's condition.
func TestFaultMisspelt(t *testing.T) {
	for _, c := range []struct{ wrong, right string }{
		{"sepc", "spec"},
		{"spec.TFReplicaSpecs", inReplicaSpecs},
		{inWorker + ".templat", inTemplate},
		{inTemplate + ".Spec", inPod},
		{inPod + ".container", inPod + ".containers"},
		{inContainer + ".Image", inContainer + ".image"},
		{inContainer + ".nmae", inContainer + ".name"},
		{inContainer + ".ports[0].containerport", inContainer + ".ports[0].containerPort"},
		{inContainer + ".env[0].Name", inContainer + ".env[0].name"},
	} {
		raw := sound(t)
		put(t, raw, inContainer+".ports[0].containerPort", int64(1))
		put(t, raw, inContainer+".env[0].name", "A")
		keys := places(t, c.right)
		put(t, raw, c.wrong, at(t, raw, keys...))
		put(t, raw, c.right, untyped.Missing{})
		got := check(t, raw)
		wrong := places(t, c.wrong)
		want := schema.Problem{Code: schema.MissingField, Path: c.right, Want: "be set", Hint: "rename `" + wrong[len(wrong)-1].(string) + "`"}
		if got.Rejection == nil || !slices.Contains(got.Rejection.Problems, want) {
			t.Errorf("%s: got %s, want %s", c.wrong, describe(got), want)
		}
	}
	for _, f := range []change{
		{inContainer + ".image": untyped.Missing{}},                                                          // nothing like it
		{inContainer + ".image": untyped.Missing{}, inContainer + ".Image": "a", inContainer + ".imag": "b"}, // two of them
	} {
		raw := sound(t)
		apply(t, raw, f)
		if got := check(t, raw).Rejection.Problems; len(got) != 1 || got[0].Hint != "" {
			t.Errorf("%v: %v, want one problem without a hint", f, got)
		}
	}
}

package generate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFirstSentence(t *testing.T) {
	tests := map[string]string{
		"":                               "",
		"One":                            "One",
		"One. Two.":                      "One.",
		"A file, e.g. a.txt. More.":      "A file, e.g. a.txt.",
		"A file (i.e. a.txt). More.":     "A file (i.e. a.txt).",
		"Version 1.2 of it. More.":       "Version 1.2 of it.",
		"One of: a, b. More.":            "One of: a, b.",
		"Ends without a stop, e.g. here": "Ends without a stop, e.g. here",
	}
	for text, want := range tests {
		if found := firstSentence(text); found != want {
			t.Errorf("%q: found %q, wanted %q", text, found, want)
		}
	}
}

func TestShorten(t *testing.T) {
	long := "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123, 0123456789"
	found := shorten(long)
	if want := long[:len("0123456789 ")*10-1] + " 0123..."; found != want || len(found) > descriptionLimit {
		t.Errorf("found %q (%d bytes), wanted %q", found, len(found), want)
	}
	if found := shorten("short"); found != "short" {
		t.Errorf("found %q", found)
	}
}

func TestDescribe(t *testing.T) {
	const text = "First.\n  Second."
	tests := map[Place]string{
		{}:                                       "First.",
		Place{}.field("spec").field("runPolicy"): "First. Second.",
		{Path: "spec.x{}.template.spec", Depth: 4, InTemplate: true}: "First.",
		{Path: "spec.deep", Depth: 20, InTemplate: true}:             "",
		{Path: "spec.tfReplicaSpecs{}.restartPolicy", Depth: 3}:      "First. Second.",
		Place{}.field("kind"): "First.",
		Place{}.field("spec").field("a").element("[]").field("b"):        "First. Second.",
		{Path: "status.conditions[].type", Depth: 3}:                     "First. Second.",
		{Path: "spec.x{}.template.metadata", Depth: 4, InTemplate: true}: "First.",
	}
	for at, want := range tests {
		if found := describe(text, at); found != want {
			t.Errorf("%+v: found %q, wanted %q", at, found, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	tests := []struct {
		name, found, wanted string
		want                []string
	}{
		{"comment", "# x\na: 1", "a: 1", []string{"in comments or layout"}},
		{"value", "a: {b: 1, c: [1, 2]}", "a: {b: 2, c: [1, 3]}", []string{".a.b: found 1, wanted 2", ".a.c[1]: found 2, wanted 3"}},
		{"missing", "a: {}", "a: {b: {c: 1}}", []string{".a.b: found nothing, wanted an object"}},
		{"extra", "a: {b: [1]}", "a: {}", []string{".a.b: found a list of 1, wanted nothing"}},
		{"null is a value", "a: null", "{}", []string{".a: found null, wanted nothing"}},
		{"length", "a: [1]", "a: [1, 2]", []string{".a: found a list of 1, wanted a list of 2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Differences([]byte(test.found), []byte(test.wanted))); diff != "" {
				t.Errorf("(-wanted +found):\n%s", diff)
			}
		})
	}
}

package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/convert/verdict"
	"stoic/schema"
)

// bothOf returns our check and the API server's for the same schema.
func bothOf(t testing.TB, root *props, sub *apiextensionsv1.CustomResourceSubresources) (*Schema, *verdict.Judge) {
	t.Helper()
	crd := resourceOf(root)
	crd.Spec.Versions[0].Subresources = sub
	all, err := Structural(crd)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := verdict.New(&crd.Spec.Versions[0])
	if err != nil {
		t.Fatalf("not structural: %v", err)
	}
	return all[0], judge
}

// describeRefusals returns why the API server refuses an object, or "".
func describeRefusals(v verdict.Verdict) string {
	if len(v.Refusals) == 0 {
		return ""
	}
	return v.Refusals.ToAggregate().Error()
}

// agree compares both checks of one object. It returns what differs, or "".
func agree(s *Schema, judge *verdict.Judge, raw map[string]any) string {
	decided := judge.Judge(raw)
	refusal, dropped := describeRefusals(decided), decided.Dropped
	got := checkStructural(s, raw)
	if refusal == "" {
		// A stated exception: the API server lets a list through where a string has a format.
		got.Problems = slices.DeleteFunc(got.Problems, func(p schema.Problem) bool { return p.Found == "a list" && p.Want == "be a string" })
	}
	if s.status { // it is dropped as a whole, with whatever of it has the wrong type
		got.Warnings = slices.DeleteFunc(got.Warnings, func(p schema.Problem) bool { return inStatus(p.Path) })
	}
	if (refusal != "") != (len(got.Problems) > 0) {
		return fmt.Sprintf("API server: %s\nours: %v", refusal, got.Problems)
	}
	if refusal == "" && (len(dropped) > 0) != (len(got.Warnings) > 0) {
		return fmt.Sprintf("API server drops %v\nours: %v", dropped, got.Warnings)
	}
	return ""
}

func inStatus(path string) bool {
	return strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status[")
}

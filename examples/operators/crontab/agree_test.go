package crontab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules. The rules for the text of a schedule are in the
// parser, which is stricter than a pattern, so each of these constraints has a schedule that violates it.
func TestMarkersAgreeWithTags(t *testing.T) {
	found := convert.Disagreements[CronTab](served.CRD(t, "deploy/crd/crontabs.yaml"), "v1")
	parsed := []string{
		"spec.cronSpec: minLength is 1 in the CRD, and not set in the type",
		"spec.cronSpec: maxLength is 256 in the CRD, and not set in the type",
		"spec.cronSpec: pattern is `^\\s*(@[A-Za-z]+|[^\\s=@]+(\\s+[^\\s=@]+){4})\\s*$` in the CRD, and not set in the type",
	}
	if d := cmp.Diff(parsed, found); d != "" {
		t.Error(d)
	}
	for _, schedule := range []string{"", "* * * * *" + strings.Repeat(" ", 256), "* * * *", "TZ=UTC * * * * *", "@every 1s"} {
		r := Watches()[0].Convert(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"cronSpec": schedule, "image": "busybox:1"}}})
		if r.Rejection == nil || r.Rejection.Problems[0].Path != "spec.cronSpec" {
			t.Errorf("%q is not rejected: %+v", schedule, r.Rejection)
		}
	}
}

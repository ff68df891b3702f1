package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestSlimJob: malformed fields are left out.
func TestSlimJob(t *testing.T) {
	for text, want := range map[string]Job{
		`{}`: {},
		`{spec: {parallelism: 0, completions: 3, suspend: true}}`:                                                                                                       {Suspended: true, Completions: 3},
		`{spec: {parallelism: 2, completions: 2}, status: {conditions: [{type: SuccessCriteriaMet, status: "True"}]}}`:                                                  {Parallelism: 2, Completions: 2},
		`{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "1970-01-01T00:01:00Z"}]}}`:                                                        {Result: "Complete", Ended: 60},
		`{status: {conditions: [{type: Suspended, status: "False"}, {type: FailureTarget, status: "True"}, {type: Failed, status: "True", lastTransitionTime: soon}]}}`: {Result: "Failed"},
		`{status: {conditions: [{type: Complete, status: "False"}]}}`:                                                                                                   {},
		`{spec: 7, status: {conditions: [1, null, {type: 7, status: "True"}]}}`:                                                                                         {},
		`{spec: {parallelism: two, completions: 1.5, suspend: 1}, status: [x]}`:                                                                                         {},
	} {
		data, err := yaml.YAMLToJSON([]byte(text))
		u := &unstructured.Unstructured{}
		if err == nil {
			err = json.Unmarshal(data, &u.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, SlimJob(u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

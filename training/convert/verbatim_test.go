package convert

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/training/kinds"
)

// A value at Kind.Verbatim is not changed, including unknown fields.
func TestVerbatim(t *testing.T) {
	for elastic, want := range map[string]string{
		`null`:             "",
		`{}`:               "",
		`{"metrics":null}`: "",
		`{"metrics":[]}`:   `[]`,
		`{"metrics":[{"type":"Resource","new":{"field":12345678901234567},"resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"0.50"}}}]}`: `[{"new":{"field":12345678901234567},"resource":{"name":"cpu","target":{"averageValue":"0.50","type":"AverageValue"}},"type":"Resource"}]`,
	} {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","metadata":{"name":"a"},"spec":{"elasticPolicy":` + elastic +
			`,"pytorchReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"pytorch","image":"i"}]}}}}}}`)); err != nil {
			t.Fatal(err)
		}
		result := Object(kinds.PyTorchJob(), u)
		if result.Job == nil {
			t.Fatalf("%s: %v", elastic, result.Rejection.Problems)
		}
		if got := string(result.Job.Verbatim); got != want {
			t.Errorf("%s became %s, want %s", elastic, got, want)
		}
	}
}

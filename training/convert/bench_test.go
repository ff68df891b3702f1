package convert

import (
	_ "embed"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/training"
	"stoic/training/kinds"
)

//go:embed testdata/large.yaml
var large []byte

// wire is a TFJob as a typed client decodes it.
type wire struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              kinds.TFJobSpec `json:"spec,omitempty"`
	Status            training.Status `json:"status,omitempty"`
}

// largeJob returns a TFJob of 6 KB and three replica types, as an API server sends it.
func largeJob(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON(large)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// ours and stock convert the same object to typed values.
func ours(t testing.TB, u *unstructured.Unstructured) *Result {
	result := Object(kinds.TFJob(), u)
	if result.Job == nil {
		t.Fatal(result.Rejection.Problems)
	}
	return result
}

func stock(t testing.TB, u *unstructured.Unstructured) *wire {
	job := &wire{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, job); err != nil {
		t.Fatal(err)
	}
	return job
}

// BenchmarkObject compares converting a job of 6 KB and three replica types with the stock decoder, which checks less.
func BenchmarkObject(b *testing.B) {
	u := largeJob(b)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ours(b, u)
		}
	})
	b.Run("stock", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stock(b, u)
		}
	})
}

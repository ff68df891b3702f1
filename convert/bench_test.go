package convert

import (
	_ "embed"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"stoic/schema"
)

//go:embed testdata/large.yaml
var large []byte

// wire is a TFJob as a typed client would decode it.
type wire struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              schema.TFJobSpec `json:"spec,omitempty"`
	Status            schema.Status    `json:"status,omitempty"`
}

// BenchmarkObject compares converting a job of 6 KB and three roles with the stock decoder, which checks less.
func BenchmarkObject(b *testing.B) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(large, &u.Object); err != nil {
		b.Fatal(err)
	}
	raw, err := u.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	if err := u.UnmarshalJSON(raw); err != nil { // integers as int64, as from a server
		b.Fatal(err)
	}
	b.Logf("%d bytes of JSON", len(raw))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if result := Object(schema.TFJob(), u); result.Job == nil {
				b.Fatal(result.Rejection.Problems)
			}
		}
	})
	b.Run("stock", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var job wire
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &job); err != nil {
				b.Fatal(err)
			}
		}
	})
}

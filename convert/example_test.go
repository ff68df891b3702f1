package convert_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
)

// FooBar makes an object appear in another namespace.
type FooBar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooBarSpec   `json:"spec,omitempty"`
	Status            FooBarStatus `json:"status,omitempty"`
}

type FooBarSpec struct {
	Target          string `json:"target" stoic:"required,minLength=1"`
	Type            string `json:"type,omitempty" stoic:"enum=Copy;Link"`
	TargetNamespace string `json:"targetNamespace,omitempty"`
}

type FooBarStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Phase              string `json:"phase,omitempty"`
}

func ExampleTyped() {
	resource := schema.Resource{Group: "example.com", Version: "v1", Plural: "foobars", Kind: "FooBar"}
	read := convert.Typed[FooBar](resource,
		convert.Default(func(f *FooBar) {
			if f.Spec.TargetNamespace == "" {
				f.Spec.TargetNamespace = f.Namespace
			}
		}),
		convert.Validate(func(f *FooBar) []schema.Problem {
			if f.Spec.Target == f.Name && f.Spec.TargetNamespace == f.Namespace {
				return []schema.Problem{{Code: schema.Conflict, Path: "spec.target", Found: "the object itself", Want: "be another object"}}
			}
			return nil
		}))

	for _, spec := range []map[string]any{
		{"target": "other"},
		{"target": "", "type": "copy", "targetNamspace": "elsewhere"},
		{"target": "mine"},
	} {
		result := read(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "FooBar",
			"metadata": map[string]any{"name": "mine", "namespace": "here"}, "spec": spec}})
		for _, w := range result.Warnings {
			fmt.Println("warning:", w)
		}
		if result.Rejection != nil {
			for _, p := range result.Rejection.Problems {
				fmt.Println("problem:", p)
			}
			continue
		}
		foobar := result.Object.(*FooBar)
		fmt.Println("target:", foobar.Spec.TargetNamespace+"/"+foobar.Spec.Target)
	}
	// Output:
	// target: here/other
	// warning: spec.targetNamspace: unknown field; did you mean `targetNamespace`?
	// problem: spec.target: found "", must have at least 1 character
	// problem: spec.type: found "copy", must be one of "Copy", "Link"; did you mean "Copy"?
	// problem: spec.target: found the object itself, must be another object
}

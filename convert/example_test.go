package convert_test

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

var foobars = schema.Resource{Group: "example.com", Version: "v1", Plural: "foobars", Kind: "FooBar"}

// foobar returns an object with a spec, as API servers send it.
func foobar(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "FooBar", "metadata": map[string]any{"name": "mine", "namespace": "here"}, "spec": spec}}
}

// print prints the result of converting an object.
func print(r *convert.Result) {
	if r.Rejection == nil {
		fmt.Println("an object:", r.Object.(*FooBar).Spec)
		return
	}
	for _, p := range r.Rejection.Problems {
		fmt.Println(p)
	}
}

// Rules express what tags cannot, and also constrain types of other packages.
func ExampleRule() {
	read := convert.Typed[FooBar](foobars,
		convert.Choice[FooBarSpec]("targetNamespace", "here", "there"),
		convert.And[FooBarSpec](func(r *convert.Reader, spec map[string]any) {
			if spec["type"] == "Link" && spec["targetNamespace"] != nil {
				r.ProblemIn("targetNamespace", schema.Conflict, "a namespace beside type Link", "be left out", "")
			}
		}))
	print(read(foobar(map[string]any{"target": "a", "type": "Link", "targetNamespace": "there"})))
	print(read(foobar(map[string]any{"target": "a", "targetNamespace": "ther"})))
	// Output:
	// spec.targetNamespace: found a namespace beside type Link, must be left out
	// spec.targetNamespace: found "ther", must be one of "here", "there"; did you mean "there"?
}

func ExampleValidate() {
	read := convert.Typed[FooBar](foobars, convert.Validate(func(f *FooBar) []schema.Problem {
		if f.Spec.Target == f.Name {
			return []schema.Problem{{Code: schema.Conflict, Path: convert.Path("spec", "target"), Found: "the object itself", Want: "be another object"}}
		}
		return nil
	}))
	print(read(foobar(map[string]any{"target": "mine"})))
	// Output: spec.target: found the object itself, must be another object
}

// Objects without a Go type are checked in the same words, by the schemas of their CRD.
func ExampleSchema() {
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "FooBar", Plural: "foobars"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}}}}}}}}}}
	versions, err := convert.Structural(crd)
	if err != nil {
		fmt.Println(err)
		return
	}
	checked := versions[0].Check(foobar(map[string]any{"size": "3", "sise": int64(3)}))
	fmt.Println(checked.Problems, checked.Warnings)
	// Output: [spec.size: found string "3", must be an integer; remove the quotes] [spec.sise: unknown field; did you mean `size`?]
}

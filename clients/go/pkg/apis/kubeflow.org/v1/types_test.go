package v1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "stoic/clients/go/pkg/apis/kubeflow.org/v1"
)

const prefix, reference = "org.kubeflow.v1.", "#/components/schemas/"

// schema is a node of the document.
type schema struct {
	Ref        string             `json:"$ref"`
	AllOf      []*schema          `json:"allOf"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Values     *schema            `json:"additionalProperties"`
	Kinds      []any              `json:"x-kubernetes-group-version-kind"`
	IntOrStr   bool               `json:"x-kubernetes-int-or-string"`
}

type document struct {
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

func read(t *testing.T) (d document) {
	t.Helper()
	text, err := os.ReadFile("../../../../../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// kinds returns the kinds of the document, including lists.
func (d document) kinds() (names []string) {
	for name, s := range d.Components.Schemas {
		if short, ours := strings.CutPrefix(name, prefix); ours && s.Kinds != nil {
			names = append(names, short)
		}
	}
	slices.Sort(names)
	return names
}

// comparison compares Go types with schemas. Differences are in found; nodes counts the compared nodes.
type comparison struct {
	document document
	found    []string
	nodes    int
}

func (c *comparison) differs(path, format string, args ...any) {
	c.found = append(c.found, path+": "+fmt.Sprintf(format, args...))
}

// resolve follows a reference, also one that has a description of its own.
func (c *comparison) resolve(s *schema) *schema {
	for s.Ref != "" || len(s.AllOf) == 1 && s.AllOf[0].Ref != "" {
		if s.Ref == "" {
			s = s.AllOf[0]
		}
		s = c.document.Components.Schemas[strings.TrimPrefix(s.Ref, reference)]
	}
	return s
}

// compare compares a type and a schema, recursively.
func (c *comparison) compare(path string, is reflect.Type, s *schema) {
	c.nodes++
	s = c.resolve(s)
	for is.Kind() == reflect.Pointer {
		is = is.Elem()
	}
	want := func(kind, format string) {
		if s.Type != kind || s.Format != format {
			c.differs(path, "%s is %q %q in the schema", is, s.Type, s.Format)
		}
	}
	switch is {
	case reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.ListMeta]():
		want("object", "") // those of Kubernetes
		return
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		want("string", "date-time")
		return
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		if !s.IntOrStr {
			c.differs(path, "%s is not an integer or a string in the schema", is)
		}
		return
	}
	switch is.Kind() {
	case reflect.String:
		want("string", "")
	case reflect.Bool:
		want("boolean", "")
	case reflect.Int32, reflect.Int64:
		want("integer", is.Kind().String())
	case reflect.Slice:
		if is.Elem().Kind() == reflect.Uint8 {
			want("string", "byte")
			return
		}
		if want("array", ""); s.Items != nil {
			c.compare(path+"[]", is.Elem(), s.Items)
		}
	case reflect.Map:
		if want("object", ""); s.Values == nil {
			c.differs(path, "a map in Go alone")
			return
		}
		c.compare(path+"{}", is.Elem(), s.Values)
	case reflect.Struct:
		want("object", "")
		c.fields(path, is, s)
	default:
		c.differs(path, "%s has no place in a schema", is)
	}
}

// fields compares the fields of a struct and the properties of a schema, in both directions.
func (c *comparison) fields(path string, is reflect.Type, s *schema) {
	there := map[string]bool{}
	var required []string
	var visit func(reflect.Type)
	visit = func(is reflect.Type) {
		for i := range is.NumField() {
			field := is.Field(i)
			name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" && field.Anonymous {
				visit(field.Type)
				continue
			}
			if there[name] = true; s.Properties[name] == nil {
				c.differs(path+"."+name, "a field in Go alone")
				continue
			}
			if !strings.Contains(option, "omitempty") {
				required = append(required, name)
			}
			c.compare(path+"."+name, field.Type, s.Properties[name])
		}
	}
	visit(is)
	for name := range s.Properties {
		if !there[name] {
			c.differs(path+"."+name, "a field in the schema alone")
		}
	}
	if slices.Sort(required); strings.HasSuffix(is.PkgPath(), "kubeflow.org/v1") && !slices.Equal(required, slices.Sorted(slices.Values(s.Required))) {
		c.differs(path, "%q are always written, %q are required", required, s.Required)
	}
}

// TestTypesAreThoseOfTheSchema: each field of a type is a property of the schema and vice versa, with the same type, down to the last
// field of a pod template. Exactly the kinds of the document are registered.
func TestTypesAreThoseOfTheSchema(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &comparison{document: read(t)}
	known := scheme.KnownTypes(v1.SchemeGroupVersion)
	maps.DeleteFunc(known, func(_ string, is reflect.Type) bool { return !strings.HasSuffix(is.PkgPath(), "kubeflow.org/v1") })
	if registered := slices.Sorted(maps.Keys(known)); !slices.Equal(registered, c.document.kinds()) || len(registered) < 12 {
		t.Fatalf("registered are %q, the document has %q", registered, c.document.kinds())
	}
	for kind, is := range known {
		c.compare(kind, is, c.document.Components.Schemas[prefix+kind])
	}
	for _, difference := range c.found {
		t.Error(difference)
	}
	if c.nodes < 5000 {
		t.Errorf("looked at %d places", c.nodes)
	}
}

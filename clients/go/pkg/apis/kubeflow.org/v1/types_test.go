package v1_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "stoic/clients/go/pkg/apis/kubeflow.org/v1"
	typed "stoic/clients/go/pkg/client/clientset/versioned/typed/kubeflow.org/v1"
)

const prefix, reference = "org.kubeflow.v1.", "#/components/schemas/"

// schema is a node of the document.
type schema struct {
	Ref        string             `json:"$ref"`
	AllOf      []*schema          `json:"allOf"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Enum       []string           `json:"enum"`
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
	Paths map[string]any `json:"paths"`
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
	enums    map[string][]string // of the string types of the package, by their names
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
		if strings.HasSuffix(is.PkgPath(), "kubeflow.org/v1") && s.Enum != nil {
			c.enums[is.Name()] = s.Enum
		}
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
	c := &comparison{document: read(t), enums: map[string][]string{}}
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
	constants := constantsOf(t)
	for name, values := range c.enums {
		slices.Sort(values)
		// No constant is needed for an absent value.
		if has := append(slices.DeleteFunc(constants[name], func(v string) bool { return v == "" }), ""); !slices.Equal(slices.Sorted(slices.Values(has)), values) {
			t.Errorf("%s has the constants %q, the schema %q", name, has, values)
		}
	}
	if len(c.enums) != 3 {
		t.Errorf("types with lists of values: %v", c.enums)
	}
}

// constantsOf returns the constants of the package by the name of their type.
func constantsOf(t *testing.T) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is && len(spec.Values) == 1 {
				of, _ := spec.Type.(*ast.Ident)
				value, _ := spec.Values[0].(*ast.BasicLit)
				if of != nil && value != nil {
					if text, err := strconv.Unquote(value.Value); err == nil {
						found[of.Name] = append(found[of.Name], text)
					}
				}
			}
			return true
		})
	}
	return found
}

// TestDifferencesAreFound: the comparison notices each kind of difference.
func TestDifferencesAreFound(t *testing.T) {
	type inner struct {
		N int32 `json:"n,omitempty"`
	}
	type object struct {
		inner `json:",inline"`
		A     *string           `json:"a,omitempty"`
		B     []int64           `json:"b,omitempty"`
		C     map[string]inner  `json:"c,omitempty"`
		D     resource.Quantity `json:"d,omitempty"`
		E     metav1.Time       `json:"e,omitempty"`
	}
	const same = `{"type":"object","properties":{"n":{"type":"integer","format":"int32"},"a":{"type":"string"},
		"b":{"type":"array","items":{"type":"integer","format":"int64"}},
		"c":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer","format":"int32"}}}},
		"d":{"x-kubernetes-int-or-string":true},"e":{"type":"string","format":"date-time"}}}`
	for _, test := range []struct{ from, to, found string }{
		{"", "", ""},
		{`"a":{"type":"string"}`, `"a":{"type":"boolean"}`, `o.a: string is "boolean" "" in the schema`},
		{`"a":{"type":"string"}`, `"z":{"type":"string"}`, "o.a: a field in Go alone; o.z: a field in the schema alone"},
		{`"format":"int64"`, `"format":"int32"`, `o.b[]: int64 is "integer" "int32" in the schema`},
		{`"additionalProperties":{"type":"object","properties":{"n"`, `"additionalProperties":{"type":"object","properties":{"m"`, "o.c{}.n: a field in Go alone; o.c{}.m: a field in the schema alone"},
		{`"additionalProperties"`, `"other"`, "o.c: a map in Go alone"},
		{`"x-kubernetes-int-or-string":true`, `"type":"string"`, "o.d: resource.Quantity is not an integer or a string in the schema"},
		{`,"format":"date-time"`, ``, `o.e: v1.Time is "string" "" in the schema`},
	} {
		s := &schema{}
		if err := json.Unmarshal([]byte(strings.Replace(same, test.from, test.to, 1)), s); err != nil {
			t.Fatal(err)
		}
		c := &comparison{}
		if c.compare("o", reflect.TypeFor[object](), s); strings.Join(c.found, "; ") != test.found {
			t.Errorf("%s for %s: found %q, want %q", test.to, test.from, c.found, test.found)
		}
	}
	c := &comparison{}
	c.compare("s", reflect.TypeFor[v1.TFJobList](), &schema{Type: "object", Properties: map[string]*schema{"kind": {Type: "string"}, "apiVersion": {Type: "string"}, "metadata": {Type: "object"}, "items": {Type: "array"}}})
	if want := []string{`s: ["items"] are always written, [] are required`}; !slices.Equal(c.found, want) {
		t.Errorf("found %q, want %q", c.found, want)
	}
}

// TestClientset: the clientset has every kind, with the requests for its scale.
func TestClientset(t *testing.T) {
	d, clients := read(t), reflect.TypeFor[typed.KubeflowV1Interface]()
	for _, kind := range d.kinds() {
		if strings.HasSuffix(kind, "List") {
			continue
		}
		method, there := clients.MethodByName(kind + "s")
		if !there {
			t.Errorf("the clientset has no %ss", kind)
			continue
		}
		_, has := method.Type.Out(0).MethodByName("GetScale")
		_, wants := d.Paths["/apis/kubeflow.org/v1/namespaces/{namespace}/"+strings.ToLower(kind)+"s/{name}/scale"]
		if !has || !wants {
			t.Errorf("%s: GetScale is there: %v; the CRD has the subresource: %v", kind, has, wants)
		}
	}
}

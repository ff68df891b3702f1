package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/schema"
)

const structuralGroup = "structural.example.com"

// definition is one document of testdata/structural.yaml, and what is built from it.
type definition struct {
	What         string
	Scope        apiextensionsv1.ResourceScope
	Spec, Root   *apiextensionsv1.JSONSchemaProps
	Subresources *apiextensionsv1.CustomResourceSubresources
	Metadata     map[string]any
	Valid        []any

	crd    *apiextensionsv1.CustomResourceDefinition
	schema *convert.Schema
}

// definitions reads the schemas and builds the checks of their objects.
func definitions(t *testing.T) []*definition {
	t.Helper()
	text, err := os.ReadFile("testdata/structural.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*definition
	for i, document := range bytes.Split(text, []byte("\n---\n"))[1:] {
		d := &definition{Scope: apiextensionsv1.NamespaceScoped}
		if err := yaml.UnmarshalStrict(document, d); err != nil {
			t.Fatalf("schema %d: %v", i, err)
		}
		if d.Root == nil {
			d.Root = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": *d.Spec}}
		}
		plural := fmt.Sprintf("kind%ds", i)
		d.crd = &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + structuralGroup},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: structuralGroup, Scope: d.Scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: fmt.Sprintf("Kind%d", i)},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Subresources: d.Subresources,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: d.Root}}}},
		}
		schemas, err := convert.Structural(d.crd)
		if err != nil {
			t.Fatalf("%s: %v", d.What, err)
		}
		d.schema = schemas[0]
		all = append(all, d)
	}
	return all
}

// object returns one that the schema allows, with the types of decoded JSON.
func (d *definition) object(spec any) map[string]any {
	meta := map[string]any{"name": "probe"}
	maps.Copy(meta, d.Metadata)
	object, _ := fromJSON(asJSON(map[string]any{"apiVersion": d.schema.Resource.APIVersion(), "kind": d.schema.Resource.Kind, "metadata": meta, "spec": spec})).(map[string]any)
	return object
}

// install creates all definitions, and waits until their objects can be created.
func install(t *testing.T, client rest.Interface, all []*definition) {
	t.Helper()
	group, ctx := errgroup.WithContext(context.Background())
	for _, d := range all {
		group.Go(func() error {
			err := client.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").SetHeader("Content-Type", "application/json").
				Body(asJSON(d.crd)).Do(ctx).Error()
			if err != nil {
				return fmt.Errorf("%s: %w", d.What, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		await(t, d.crd.Name+" to be served", func() (bool, string) {
			err := client.Get().AbsPath("/apis", structuralGroup, "v1", d.schema.Resource.Plural).Do(context.Background()).Error()
			return err == nil, fmt.Sprint(err)
		})
	}
}

// customTrial is an object that may be malformed.
type customTrial struct {
	*definition
	object  map[string]any
	changes []string
}

// customFinding is the result of a trial.
type customFinding struct {
	customTrial
	ours    *convert.Checked
	refusal *apierrors.StatusError // of the API server, if it rejected the object
	dropped []string               // the paths of the fields that it would drop
	trouble error                  // that kept the API server from answering
}

// ask asks both.
func (c customTrial) ask(ctx context.Context, client rest.Interface) customFinding {
	f := customFinding{customTrial: c, ours: c.schema.Check(&unstructured.Unstructured{Object: c.object})}
	warned := &droppedFields{}
	request := client.Post().AbsPath("/apis", structuralGroup, "v1")
	if c.Scope == apiextensionsv1.NamespaceScoped {
		request = request.Suffix("namespaces", "default", c.schema.Resource.Plural)
	} else {
		request = request.Suffix(c.schema.Resource.Plural)
	}
	err := request.Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationWarn).
		SetHeader("Content-Type", "application/json").WarningHandler(warned).Body(asJSON(c.object)).Do(ctx).Error()
	f.dropped = warned.paths
	if err != nil && (!errors.As(err, &f.refusal) || f.refusal.ErrStatus.Code == 429 || f.refusal.ErrStatus.Code > 500) {
		f.trouble = fmt.Errorf("%s: %w", f.String(), err)
	}
	return f
}

// droppedFields collects the paths in warnings about unknown fields.
type droppedFields struct{ paths []string }

func (u *droppedFields) HandleWarningHeader(_ int, _ string, text string) {
	if rest, ok := strings.CutPrefix(text, `unknown field "`); ok {
		u.paths = append(u.paths, strings.TrimSuffix(rest, `"`))
	}
}

func (f customFinding) String() string {
	return fmt.Sprintf("%s with %q\n  object: %s  ours: %v, warnings %v\n  API server: %v, drops %q", f.What, f.changes,
		asJSON(f.object), f.ours.Problems, f.ours.Warnings, f.refusal, f.dropped)
}

// outcome compares the two answers, and what is dropped of an object that both accept.
func (f customFinding) outcome() outcome {
	switch refused := len(f.ours.Problems) > 0; {
	case refused && f.refusal != nil:
		return bothRefuse
	case refused:
		return onlyServerTakes
	case f.refusal != nil:
		return onlyWeTake
	}
	return bothTake
}

// disagreesOnPurpose reports the schemas for which the two disagree on purpose about some values: the API server cuts fractions off bounds and
// factors of integers, and forgets the type of a list of a time. convert has a table of these, against the API server's library.
func disagreesOnPurpose(what string) bool {
	return slices.Contains([]string{"bounds that are no integers", "multiples", "formats of times", "int or string"}, what)
}

// TestStructural compares the check of custom resources with the API server: for each schema, objects that it allows, and objects
// with one value replaced by something else. What both accept must also lose the same fields. The package convert compares many
// more objects with the API server's own library; this test shows that the library is what a server uses.
func TestStructural(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	all := definitions(t)
	if len(all) < 40 {
		t.Fatalf("%d schemas", len(all))
	}
	client := shared(t).typed.CoreV1().RESTClient()
	install(t, client, all)
	for _, d := range all {
		for _, spec := range d.Valid {
			trials := []customTrial{{definition: d, object: d.object(spec)}}
			if !disagreesOnPurpose(d.What) {
				trials = append(trials, d.spoilt(spec)...)
			}
			for i, c := range trials {
				f := c.ask(t.Context(), client)
				switch how := f.outcome(); {
				case f.trouble != nil:
					t.Fatal(f.trouble)
				case i == 0 && (how != bothTake || len(f.ours.Warnings) > 0):
					t.Errorf("no sound base: %v", f)
				case how == onlyServerTakes, how == onlyWeTake:
					t.Errorf("%v: %v", how, f)
				case how == bothTake && !f.sameDropped():
					t.Errorf("other fields are dropped: %v", f)
				}
			}
		}
	}
}

// spoilt returns objects with one value of the spec replaced.
func (d *definition) spoilt(spec any) (trials []customTrial) {
	values := []any{nil, "x", int64(-1), 1.5, true, []any{}, map[string]any{"x": "y"}}
	for _, at := range places(d.object(spec), nil, nil) {
		if at[0] != "spec" {
			continue
		}
		for _, value := range values {
			m := put(fmt.Sprint(value), value)
			object, done := spoil(d.object(spec), at, m)
			if done {
				decoded, _ := fromJSON(asJSON(object)).(map[string]any)
				trials = append(trials, customTrial{definition: d, object: decoded, changes: []string{at.String() + " " + m.name}})
			}
		}
	}
	return trials
}

// sameDropped reports whether we warn of the fields that the API server drops. Its spelling of paths differs, so only plain paths
// are compared by name, and all by number.
func (f customFinding) sameDropped() bool {
	if len(f.dropped) != len(f.ours.Warnings) {
		return false
	}
	for _, p := range f.ours.Warnings {
		if !strings.Contains(p.Path, `["`) && !slices.Contains(f.dropped, p.Path) {
			return false
		}
	}
	return !slices.ContainsFunc(f.ours.Warnings, func(p schema.Problem) bool {
		return p.Code != schema.UnknownField && p.Code != schema.MisplacedField
	})
}

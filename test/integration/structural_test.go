package integration

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/convert"
	"stoic/schema"
)

// How many malformed custom resources are tried; -structural.cases=-1 tries every single mutation of every node.
var (
	structuralCases = flag.Int("structural.cases", 6000, "how many spoilt custom resources to show to the API server")
	structuralSeed  = flag.Uint64("structural.seed", 1, "which of them")
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

// TestStructuralDifferential compares the check of custom resources with the API server: for each schema, objects that it allows,
// and objects that are malformed in one place or two. An object that both accept must also lose the same fields. Each
// disagreement needs an entry in structural_exceptions_test.go that says why.
func TestStructuralDifferential(t *testing.T) {
	t.Parallel() // it mostly waits
	all := definitions(t)
	if len(all) < 40 {
		t.Fatalf("%d schemas", len(all))
	}
	r := bareRig(t, cluster.Options{Nodes: -1})
	client := r.typed.CoreV1().RESTClient()
	install(t, client, all)
	var trials []customTrial
	for _, d := range all {
		for _, spec := range d.Valid {
			trials = append(trials, customTrial{definition: d, object: d.object(spec)})
		}
	}
	for _, f := range askAll(t, client, trials) {
		if f.outcome() != bothTake || len(f.ours.Warnings) > 0 {
			t.Errorf("no sound base: %v", f)
		}
	}
	if t.Failed() {
		return
	}
	start := time.Now()
	trials = append(drawCustoms(all, *structuralCases, rand.New(rand.NewPCG(*structuralSeed, 0))), oddCustoms(all)...)
	reportCustoms(t, askAll(t, client, trials))
	t.Logf("%d schemas, %d objects in %v, seed %d", len(all), len(trials), time.Since(start).Round(time.Millisecond), *structuralSeed)
}

// askAll runs all trials, several in parallel. The findings are in the order of the trials.
func askAll(t *testing.T, client rest.Interface, trials []customTrial) []customFinding {
	t.Helper()
	found := make([]customFinding, len(trials))
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(atOnce)
	for i, c := range trials {
		group.Go(func() error {
			found[i] = c.ask(ctx, client)
			return found[i].trouble
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return found
}

// drawCustoms mutates objects that their schemas allow: most in one place, some in two. It keeps apiVersion and kind, which
// select the schema.
func drawCustoms(all []*definition, n int, random *rand.Rand) []customTrial {
	type change struct {
		*definition
		spec any
		at   place
		mutator
	}
	var changes []change
	for _, d := range all {
		for _, spec := range d.Valid {
			for _, at := range places(d.object(spec), nil, nil) {
				if at[0] == "apiVersion" || at[0] == "kind" || at[0] == "metadata" && d.Metadata == nil {
					continue
				}
				for _, m := range mutators() {
					changes = append(changes, change{d, spec, at, m})
				}
			}
		}
	}
	random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	if n < 0 || n > len(changes) {
		n = len(changes)
	}
	var trials []customTrial
	for i, x := range changes[:n] {
		c := customTrial{definition: x.definition}
		object, done := spoil(x.object(x.spec), x.at, x.mutator)
		if !done {
			continue
		}
		c.changes = append(c.changes, x.at.String()+" "+x.name)
		if other := changes[(i+1)%len(changes)]; i%5 == 4 {
			at := places(object, nil, nil)
			at = slices.DeleteFunc(at, func(p place) bool { return p[0] != "spec" })
			if len(at) > 0 {
				chosen := at[random.IntN(len(at))]
				if object, done = spoil(object, chosen, other.mutator); done {
					c.changes = append(c.changes, chosen.String()+" "+other.name)
				}
			}
		}
		c.object, _ = fromJSON(asJSON(object)).(map[string]any)
		trials = append(trials, c)
	}
	return trials
}

// reportCustoms logs the findings and fails for each disagreement that no exception covers.
func reportCustoms(t *testing.T, found []customFinding) {
	t.Helper()
	count, failures, used := map[string]int{}, 0, map[string]bool{}
	for _, f := range found {
		how := f.outcome().String()
		count[how]++
		var meant *customException
		switch {
		case f.outcome() == bothRefuse, f.outcome() == bothTake && f.sameDropped():
			continue
		case f.outcome() == bothTake:
			how = "other fields dropped"
			count[how]++
		}
		if meant = excuseCustom(f); meant == nil {
			if failures++; failures <= mostShown {
				t.Errorf("%s: %v", how, f)
			}
			continue
		}
		count[how+": "+meant.what]++
		used[meant.what] = true
	}
	if failures > mostShown {
		t.Errorf("and %d more", failures-mostShown)
	}
	for _, line := range byCount(count) {
		t.Log(line)
	}
	for _, e := range customExceptions() {
		if !used[e.what] && !e.depends {
			t.Errorf("nothing needs the exception %q", e.what)
		}
	}
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

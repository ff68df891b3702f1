package scenario

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/controller/watch"
	"stoic/convert"
)

// Kind is one resource of an operator, whose objects are malformed in every way.
type Kind struct {
	Operator *Operator
	Resource schema.GroupVersionResource
	Name     string // "FooBar"
	Cluster  bool
	// Convert is the operator's converter.
	Convert func(*unstructured.Unstructured) *convert.Result
	// Valid are manifests that the converter accepts; see Scenario.Manifest.
	Valid []func(name string) string
}

// Kinds returns the kinds of an operator: those of its watches.
func (o *Operator) Kinds() (all []Kind, err error) {
	if o.Watches == nil {
		return nil, nil
	}
	for _, w := range o.Watches() {
		k := Kind{Operator: o, Resource: schema.GroupVersionResource{Group: w.Resource.Group, Version: w.Resource.Version, Resource: w.Resource.Plural},
			Name: w.Resource.Kind, Cluster: w.Resource.Cluster, Convert: w.Convert}
		if k.Valid, err = o.valid(w); err != nil {
			return nil, err
		}
		if len(k.Valid) == 0 {
			return nil, fmt.Errorf("%s has no valid %s", o.Name, k.Name)
		}
		all = append(all, k)
	}
	return all, nil
}

// SchemasIn returns where the CRDs are that declare types; see Schemas.
func (o *Operator) SchemasIn() string {
	return cmp.Or(o.Schemas, path.Join(path.Dir(o.Package), "deploy/crd"))
}

// mostValid is how many objects of a kind are malformed, if they are those of the scenarios.
const mostValid = 2

// valid returns valid manifests of a resource: those of the Operator value, or those of the scenarios that the converter accepts.
func (o *Operator) valid(w watch.Watch) (all []func(string) string, err error) {
	candidates := o.Valid
	for _, s := range o.Scenarios {
		if o.Valid == nil {
			candidates = append(candidates, s.Manifest)
		}
	}
	var known []string
	for _, manifest := range candidates {
		p := Places{Namespace: "here", Elsewhere: "there"}
		u, err := Fill(manifest, p, w.Resource.Cluster, "probe")
		if err != nil {
			return nil, fmt.Errorf("a manifest of %s: %w", o.Name, err)
		}
		if u.GetKind() != w.Resource.Kind || u.GetAPIVersion() != w.Resource.APIVersion() {
			continue
		}
		text := fmt.Sprint(u.Object)
		if slices.Contains(known, text) || o.Valid == nil && (len(all) == mostValid || w.Convert(u).Object == nil) {
			continue
		}
		known, all = append(known, text), append(all, manifest)
	}
	return all, nil
}

// Fill makes an object of a manifest, as at the beginning of a scenario's run, with numbers in the types that API servers return.
func Fill(manifest func(string) string, p Places, cluster bool, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON([]byte(fill(manifest(name), Scenario{Cluster: cluster}.Subject(p, name))))
	if err == nil {
		err = json.Unmarshal(text, &u.Object)
	}
	if err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	if !cluster {
		u.SetNamespace(p.Namespace)
	}
	return u, nil
}

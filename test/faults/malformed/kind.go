package malformed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/test/faults/mutation"
	"stoic/test/faults/scenario"
)

// kind is a kind whose objects are malformed, and what is known of it.
type kind struct {
	scenario.Kind
	// name is the kind in the names of plans: "tfjobs".
	name string
	// shipped is the schema of its CRD, and strict checks a whole object by it; open is the CRD that accepts anything.
	shipped *mutation.Schema
	strict  *convert.Schema
	open    *unstructured.Unstructured
	// scale is the path of the number of replicas that its subresource scale sets; "" if it has none.
	scale string
	// healthy is the end of a valid object, one for each of Valid.
	healthy []healthy
	// all mutations, of all of Valid.
	all []choice
}

// healthy is the end of a valid object without errors.
type healthy struct {
	state            string // the last condition that is True
	status           map[string]any
	versions, events int
}

// choice is a mutation of one of the valid objects of a kind.
type choice struct {
	base int
	mutation.Mutation
}

// Name returns the name of the mutation, after the number of the valid object unless that is the first.
func (c choice) Name() string {
	if c.base == 0 {
		return c.Mutation.Name()
	}
	return fmt.Sprintf("object %d, %s", c.base+1, c.Mutation.Name())
}

// kindsOf returns the kinds of operators, with their schemas in a checkout.
func kindsOf(root string, operators []*scenario.Operator) (all []*kind, err error) {
	open, err := crds(filepath.Join(root, "test/fixtures"), "-open.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range operators {
		found, err := o.Kinds()
		if err != nil || len(found) == 0 {
			if err != nil {
				return nil, fmt.Errorf("the kinds of %s: %w", o.Name, err)
			}
			continue
		}
		shipped, err := crds(filepath.Join(root, o.SchemasIn()), ".yaml")
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			one := &kind{Kind: k, name: nameOf(k)}
			if err := one.schemas(open, shipped); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", one.name, o.Name, err)
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// nameOf returns the kind in the names of plans: with the version, if its operator is apart because of it.
func nameOf(k scenario.Kind) string {
	if k.Operator.Apart {
		return k.Resource.Resource + "." + k.Resource.Version
	}
	return k.Resource.Resource
}

// Is reports whether an operator has a kind of that name.
func Is(o *scenario.Operator, name string) bool {
	all, err := o.Kinds()
	return err == nil && slices.ContainsFunc(all, func(k scenario.Kind) bool { return nameOf(k) == name })
}

// schemas finds both CRDs of the kind.
func (k *kind) schemas(open, shipped []*unstructured.Unstructured) error {
	k.open = k.find(open)
	strict := k.find(shipped)
	if k.open == nil || strict == nil {
		return fmt.Errorf("there are %d open CRDs and %d that are shipped, and one of both is missing", len(open), len(shipped))
	}
	text, err := strict.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write its CRD: %w", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		return fmt.Errorf("read its CRD: %w", err)
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == k.Resource.Version && v.Subresources != nil && v.Subresources.Scale != nil {
			k.scale = strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, ".")
		}
		crd.Spec.Versions[i].Subresources = nil // a status that is a subresource would not be checked
	}
	schemas, err := convert.Structural(crd)
	if err != nil {
		return fmt.Errorf("read its schema: %w", err)
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == k.Resource.Version })
	j := slices.IndexFunc(schemas, func(s *convert.Schema) bool { return s.Resource.Version == k.Resource.Version })
	if i < 0 || j < 0 {
		return errors.New("its CRD has no such version")
	}
	k.shipped, k.strict = crd.Spec.Versions[i].Schema.OpenAPIV3Schema, schemas[j]
	return nil
}

// find returns the CRD of the kind in its version.
func (k *kind) find(all []*unstructured.Unstructured) *unstructured.Unstructured {
	for _, crd := range all {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			if version, _ := v.(map[string]any); group == k.Resource.Group && plural == k.Resource.Resource && version["name"] == k.Resource.Version {
				return crd
			}
		}
	}
	return nil
}

// crds returns the CRDs in one file, or in the files of a folder with this suffix.
func crds(path, suffix string) (all []*unstructured.Unstructured, err error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("find CRDs: %w", err)
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*"+suffix)); err != nil {
			return nil, fmt.Errorf("find CRDs: %w", err)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read CRDs: %w", err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			if u.GetKind() == "CustomResourceDefinition" {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// mutate lists all mutations, once the status of a healthy object is known.
func (k *kind) mutate(places scenario.Places) error {
	for base, manifest := range k.Valid {
		u, err := scenario.Fill(manifest, places, k.Cluster, "probe")
		if err != nil {
			return err
		}
		if k.healthy[base].status != nil {
			u.Object["status"] = k.healthy[base].status
		}
		for _, m := range mutation.All(u.Object, k.shipped) {
			if m.Path.String() != k.scale || k.replicas(m.Apply(u.Object)) <= mostReplicas {
				k.all = append(k.all, choice{base, m})
			}
		}
	}
	return nil
}

// mostReplicas bounds one object's replicas. More of them, if the converter accepts them, are a matter of size and not malformed:
// with 65,536 pods of one object no node has room for those of the others, and the garbage collector needs minutes.
const mostReplicas = 1000

// replicas returns the number in the spec of an object; 0 if the converter rejects it.
func (k *kind) replicas(object map[string]any) int64 {
	n, _, err := unstructured.NestedInt64(object, strings.Split(k.scale, ".")...)
	if err != nil || n <= mostReplicas || k.Convert(&unstructured.Unstructured{Object: object}).Rejection != nil {
		return 0
	}
	return n
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/schema/crd/generate"
	"stoic/training"
	"stoic/training/kinds"
)

// The tests read the files in the repository, which clusters install. -check verifies that they are up to date. tools/crdtest
// compiles the CEL rules, because it may import what the program may not.

const (
	crds     = "../../deploy/crd"
	fixtures = "../../test/fixtures"
)

func read(t *testing.T, path string) (*crdv1.CustomResourceDefinition, []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := new(crdv1.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	return crd, raw
}

// each runs a test for the installed CRD of every kind.
func each(t *testing.T, test func(*testing.T, *training.Kind, *crdv1.CustomResourceDefinition)) {
	for _, kind := range kinds.Served() {
		t.Run(kind.APIVersion()+" "+kind.Name, func(t *testing.T) {
			crd, _ := read(t, fileOf(kind))
			test(t, kind, crd)
		})
	}
}

// fileOf returns the path of the CRD of a kind. A version other than v1 is installed instead of v1.
func fileOf(kind *training.Kind) string {
	if kind.Version != "v1" {
		return filepath.Join("..", "..", "deploy", kind.Singular+"-"+kind.Version, kind.Plural+".yaml")
	}
	return filepath.Join(crds, kind.Plural+".yaml")
}

// TestSize: kubectl apply copies the object as JSON into an annotation, and all annotations of an object together hold 262144
// bytes. The margin is for fields that a newer Kubernetes adds to the pod.
func TestSize(t *testing.T) {
	const limit = 200_000
	for _, kind := range kinds.Served() {
		_, raw := read(t, fileOf(kind))
		asJSON, err := yaml.YAMLToJSON(raw)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes of JSON", fileOf(kind), len(asJSON))
		if len(asJSON) >= limit {
			t.Errorf("%s: %d bytes of JSON, must stay below %d; lower descriptionLimit or descriptionDepth", fileOf(kind), len(asJSON), limit)
		}
	}
}

func TestNamesAndSubresources(t *testing.T) {
	each(t, func(t *testing.T, kind *training.Kind, crd *crdv1.CustomResourceDefinition) {
		names := crd.Spec.Names
		if len(names.ShortNames) == 0 {
			t.Error("no short name")
		}
		names.ShortNames = nil
		want := crdv1.CustomResourceDefinitionNames{Plural: kind.Plural, Singular: kind.Singular,
			Kind: kind.Name, ListKind: kind.Name + "List", Categories: []string{"training"}}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("names (-wanted +found):\n%s", diff)
		}
		if crd.Name != kind.Plural+"."+kind.Group || crd.Spec.Group != kind.Group || crd.Spec.Scope != crdv1.NamespaceScoped {
			t.Errorf("name %s, group %s, scope %s", crd.Name, crd.Spec.Group, crd.Spec.Scope)
		}
		if len(crd.Spec.Versions) != 1 {
			t.Fatalf("%d versions", len(crd.Spec.Versions))
		}
		version := crd.Spec.Versions[0]
		if version.Name != kind.Version || !version.Served || !version.Storage || version.Subresources == nil || version.Subresources.Status == nil {
			t.Errorf("version %s served=%v storage=%v subresources=%+v", version.Name, version.Served, version.Storage, version.Subresources)
		}
	})
}

// TestColumns: scripts parse the columns that kubectl shows without -o wide, so these never change.
func TestColumns(t *testing.T) {
	want := []crdv1.CustomResourceColumnDefinition{
		{Name: "State", Type: "string", JSONPath: ".status.conditions[-1:].type"},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	}
	each(t, func(t *testing.T, kind *training.Kind, crd *crdv1.CustomResourceDefinition) {
		want := slices.Clone(want)
		if kind.Name == "MPIJob" && kind.Version == "v1" { // the other way round, also in v1.9.4
			slices.Reverse(want)
		}
		columns := crd.Spec.Versions[0].AdditionalPrinterColumns
		if diff := cmp.Diff(want, formerColumns(columns)); diff != "" {
			t.Errorf("columns (-wanted +found):\n%s", diff)
		}
		if last := columns[len(columns)-1].Name; last != "Message" {
			t.Errorf("last wide column is %s, wanted Message: it may be long", last)
		}
	})
}

// TestPodTemplateIsOpen: every object of a pod template keeps unknown fields; nothing else does.
func TestPodTemplateIsOpen(t *testing.T) {
	each(t, func(t *testing.T, kind *training.Kind, crd *crdv1.CustomResourceDefinition) {
		template := "spec." + kind.ReplicaSpecsField + "{}.template"
		generate.Visit(generate.SchemaOf(crd, 0), generate.Place{}, func(node *crdv1.JSONSchemaProps, at generate.Place) {
			inside := at.Path == template || strings.HasPrefix(at.Path, template+".")
			if open := node.XPreserveUnknownFields != nil; open != (inside && node.Properties != nil) {
				t.Errorf("%q: keeps unknown fields: %v", at.Path, open)
			}
		})
	})
}

// TestAnnotations: annotations that the user wrote stay, such as the API approval. The version of controller-gen is removed.
func TestAnnotations(t *testing.T) {
	crd := &crdv1.CustomResourceDefinition{}
	crd.Annotations = map[string]string{"controller-gen.kubebuilder.io/version": "v1", "api-approved.kubernetes.io": "unapproved, an example"}
	rename(crd)
	if len(crd.Annotations) != 1 || crd.Annotations["api-approved.kubernetes.io"] == "" {
		t.Errorf("found %v", crd.Annotations)
	}
}

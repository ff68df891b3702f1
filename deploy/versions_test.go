package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stoic/test/served"
	trainingversions "stoic/training/versions"
)

// TestVersions: the components have the versions that follow from the tables.
func TestVersions(t *testing.T) {
	webhook := served.Service("kubeflow", "training-operator-conversion")
	served.Patch(t, "components/versions/tfjobs.yaml", *update, served.CRD(t, "crd/tfjobs.yaml"), trainingversions.TFJob(), webhook)
	served.Patch(t, "components/mpijob-versions/mpijobs.yaml", *update, served.CRD(t, "crd/mpijobs.yaml"), trainingversions.MPIJob(), webhook,
		served.Version(t, "mpijob-v2beta1/mpijobs.yaml"))
}

// TestVersionsComponent: an overlay with the component renders, and the references between its parts are correct.
func TestVersionsComponent(t *testing.T) {
	overlay, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	to, err := filepath.Rel(overlay, here)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: kubeflow\nresources: [TO/crd, TO/rbac, TO/controller]\ncomponents: [TO/components/namespace, TO/components/versions, TO/components/mpijob-versions]\n", "TO", to)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := objects(t, kustomize(t, overlay))
	at := func(object any, keys ...any) any {
		for _, key := range keys {
			switch k := key.(type) {
			case string:
				m, _ := object.(map[string]any)
				object = m[k]
			case int:
				l, _ := object.([]any)
				if k >= len(l) {
					return nil
				}
				object = l[k]
			}
		}
		return object
	}
	crds := map[string]any{}
	var deployment, service any
	for id, o := range all {
		switch at(o, "kind") {
		case "CustomResourceDefinition":
			if at(o, "spec", "conversion") != nil {
				crds[id] = o
			}
		case "Deployment":
			deployment = o
		case "Service":
			if at(o, "metadata", "name") == "training-operator-conversion" {
				service = o
			}
		}
	}
	wants := map[string][]string{"tfjobs": {"v1", "v1beta2", "v1beta1", "v1alpha2"}, "mpijobs": {"v1", "v2beta1"}}
	if len(crds) != len(wants) {
		t.Errorf("%d CRDs are converted", len(crds))
	}
	for plural, versions := range wants {
		crd := crds["CustomResourceDefinition/"+plural+".kubeflow.org"]
		for i, want := range append(versions, "") {
			if got, _ := at(crd, "spec", "versions", i, "name").(string); got != want || got != "" && at(crd, "spec", "versions", i, "storage") != (i == 0) {
				t.Errorf("version %d of %s is %q, want %q; only the first is stored", i, plural, got, want)
			}
		}
		if client := at(crd, "spec", "conversion", "webhook", "clientConfig", "service"); at(client, "name") != at(service, "metadata", "name") || at(client, "namespace") != at(service, "metadata", "namespace") || at(client, "path") != "/convert" {
			t.Errorf("the CRD of %s names %v", plural, client)
		}
	}
	for key, value := range at(service, "spec", "selector").(map[string]any) {
		if at(deployment, "spec", "template", "metadata", "labels", key) != value {
			t.Errorf("the Service selects no pod of the Deployment: %s=%v", key, value)
		}
	}
	if at(service, "spec", "publishNotReadyAddresses") != true {
		t.Error("a pod that waits for the webhook to be ready is not reached")
	}
}

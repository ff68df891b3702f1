package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

// document is one manifest: its file and its content.
type document struct {
	file string
	raw  []byte
	head metav1.PartialObjectMetadata
}

func (d document) id() string {
	id := d.head.Kind + "/" + d.head.Name
	if d.head.Namespace != "" {
		id = d.head.Namespace + "/" + id
	}
	return id
}

// documents reads every embedded manifest.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := fs.WalkDir(Files(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(Files(), path)
		if err != nil {
			return err
		}
		all = append(all, split(t, path, raw)...)
		return nil
	})
	if err != nil {
		t.Fatalf("read the embedded manifests: %v", err)
	}
	return all
}

func split(t *testing.T, file string, raw []byte) []document {
	t.Helper()
	var all []document
	for reader := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("split %s: %v", file, err)
		}
		d := document{file: file, raw: part}
		// The schema of a CRD is long, and does not contain its name.
		head, _, _ := bytes.Cut(part, []byte("\nspec:"))
		if err := yaml.Unmarshal(head, &d.head); err != nil {
			t.Fatalf("parse %s: %v", file, err)
		}
		if d.head.Kind != "" {
			all = append(all, d)
		}
	}
}

// into parses a document as one type; a field that the type does not have fails the test.
func into[T any](t *testing.T, all []document, id string) T {
	t.Helper()
	var value T
	for _, d := range all {
		if d.id() == id {
			if err := yaml.UnmarshalStrict(d.raw, &value); err != nil {
				t.Fatalf("parse %s of %s: %v", id, d.file, err)
			}
			return value
		}
	}
	t.Fatalf("no manifest holds %s", id)
	return value
}

// wanted returns the names of everything that is installed. What is not on this list is not installed.
func wanted() []string {
	ids := []string{
		"Namespace/kubeflow",
		"ClusterRole/training-operator",
		"ClusterRoleBinding/training-operator",
		"ClusterRole/training-operator-mpijob",
		"ClusterRoleBinding/training-operator-mpijob",
		"ClusterRole/kubeflow-training-admin",
		"ClusterRole/kubeflow-training-edit",
		"ClusterRole/kubeflow-training-view",
		"kubeflow/ServiceAccount/training-operator",
		"kubeflow/Role/training-operator-leader-election",
		"kubeflow/RoleBinding/training-operator-leader-election",
		"kubeflow/Deployment/training-operator",
		"kubeflow/Service/training-operator",
	}
	for _, kind := range kinds.All() {
		ids = append(ids, "CustomResourceDefinition/"+kind.Plural+"."+kind.Group)
	}
	slices.Sort(ids)
	return ids
}

func ids(all []document) []string {
	var found []string
	for _, d := range all {
		found = append(found, d.id())
	}
	slices.Sort(found)
	return found
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff(wanted(), ids(documents(t))); diff != "" {
		t.Errorf("installed objects (-wanted +found):\n%s", diff)
	}
}

func deployment(t *testing.T, all []document) (appsv1.Deployment, corev1.Container) {
	t.Helper()
	d := into[appsv1.Deployment](t, all, "kubeflow/Deployment/training-operator")
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("wanted one container, found %d", len(d.Spec.Template.Spec.Containers))
	}
	return d, d.Spec.Template.Spec.Containers[0]
}

// TestKustomize: kustomize installs exactly what is embedded.
func TestKustomize(t *testing.T) {
	rendered := kustomize(t, ".")
	if diff := cmp.Diff(wanted(), ids(rendered)); diff != "" {
		t.Errorf("rendered objects (-wanted +found):\n%s", diff)
	}
	if _, container := deployment(t, rendered); container.Image != "stoic:dev" {
		t.Errorf("image %q, wanted stoic:dev", container.Image)
	}
}

// TestDeployment: the labels are the selector of a Deployment that may already exist, as a selector cannot be changed. The pod meets the
// "restricted" Pod Security level and has a read-only file system. The garbage collector needs a memory limit. The rest stands in the
// snapshots of tools/helm.
func TestDeployment(t *testing.T) {
	all := documents(t)
	d, container := deployment(t, all)
	service := into[corev1.Service](t, all, "kubeflow/Service/training-operator")
	labels := map[string]string{"control-plane": "kubeflow-training-operator"}
	for what, found := range map[string]map[string]string{
		"selector":                 d.Spec.Selector.MatchLabels,
		"labels of pods":           d.Spec.Template.Labels,
		"selector of the Service":  service.Spec.Selector,
		"labels of the Deployment": d.Labels,
	} {
		if diff := cmp.Diff(labels, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	yes, no := true, false
	pod := &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	if diff := cmp.Diff(pod, d.Spec.Template.Spec.SecurityContext); diff != "" {
		t.Errorf("security of the pod (-want +got):\n%s", diff)
	}
	restricted := &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	if diff := cmp.Diff(restricted, container.SecurityContext); diff != "" {
		t.Errorf("security of the container (-want +got):\n%s", diff)
	}
	if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources %+v", container.Resources)
	}
}

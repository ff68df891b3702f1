package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// TestDirectoriesApplyPlainly: a directory that kubectl apply -f reads contains only objects of the cluster.
func TestDirectoriesApplyPlainly(t *testing.T) {
	for _, dir := range []string{"crd", "rbac", "controller"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Name() == "Kustomization" { // kubectl apply -f DIR reads .json, .yaml and .yml
				continue
			}
			if !strings.HasSuffix(entry.Name(), ".yaml") || strings.HasPrefix(entry.Name(), "kustomization") {
				t.Errorf("%s/%s would upset kubectl apply -f deploy/%s", dir, entry.Name(), dir)
			}
		}
	}
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
// "restricted" Pod Security level and has a read-only file system. Ports, probes and paths are those that the flags and the Service name.
func TestDeployment(t *testing.T) {
	all := documents(t)
	d, container := deployment(t, all)
	service := into[corev1.Service](t, all, "kubeflow/Service/training-operator")
	labels := map[string]string{"control-plane": "kubeflow-training-operator"}
	yes, no := true, false
	mounts := map[string]string{}
	for _, volume := range d.Spec.Template.Spec.Volumes {
		if volume.ConfigMap == nil || volume.ConfigMap.Optional == nil || !*volume.ConfigMap.Optional {
			t.Errorf("the pod needs the volume %+v", volume)
		}
		mounts[volume.Name] = "/etc/training-operator"
	}
	foundMounts := map[string]string{}
	for _, mount := range container.VolumeMounts {
		foundMounts[mount.Name] = mount.MountPath
	}
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	environment := map[string]string{}
	for _, variable := range container.Env {
		environment[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
	}
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}}
	}
	for _, check := range []struct {
		what        string
		want, found any
	}{
		{"selector", labels, d.Spec.Selector.MatchLabels},
		{"labels of pods", labels, d.Spec.Template.Labels},
		{"labels of the Deployment", labels, d.Labels},
		{"selector of the Service", labels, service.Spec.Selector},
		{"name of the container", "training-operator", container.Name},
		{"service account", "training-operator", d.Spec.Template.Spec.ServiceAccountName},
		{"args", []string{"controller", "--leader-elect", "--zap-log-level-file=/etc/training-operator/log-level"}, container.Args},
		{"mounts", mounts, foundMounts},
		{"environment", map[string]string{"MY_POD_NAMESPACE": "metadata.namespace", "MY_POD_NAME": "metadata.name"}, environment},
		{"security of the pod", &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			d.Spec.Template.Spec.SecurityContext},
		{"security of the container", &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}, container.SecurityContext},
		{"ports", map[string]int32{"metrics": 8080, "probes": 8081}, ports},
		{"liveness", probe("/healthz"), container.LivenessProbe.ProbeHandler},
		{"readiness", probe("/readyz"), container.ReadinessProbe.ProbeHandler},
		{"port of the Service", intstr.FromString("metrics"), service.Spec.Ports[0].TargetPort},
		{"annotation of the Service", "8080", service.Annotations["prometheus.io/port"]},
	} {
		if diff := cmp.Diff(check.want, check.found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.what, diff)
		}
	}
	if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources %+v: the garbage collector needs a memory limit", container.Resources)
	}
}

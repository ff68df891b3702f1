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
	rbacv1 "k8s.io/api/rbac/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// TestCRDs: every kind has a CRD, with the names that the program uses.
func TestCRDs(t *testing.T) {
	all := documents(t)
	for _, kind := range kinds.All() {
		crd := into[crdv1.CustomResourceDefinition](t, all, "CustomResourceDefinition/"+kind.Plural+"."+kind.Group)
		if crd.Spec.Group != kind.Group || crd.Spec.Names.Kind != kind.Name || crd.Spec.Names.Singular != kind.Singular {
			t.Errorf("%s: speaks of %s %s/%s, wanted %s %s/%s", crd.Name, crd.Spec.Group, crd.Spec.Names.Kind,
				crd.Spec.Names.Singular, kind.Group, kind.Name, kind.Singular)
		}
		if v := crd.Spec.Versions[0]; v.Name != kind.Version || !v.Served || !v.Storage {
			t.Errorf("%s: first version is %s served=%v storage=%v, wanted %s served and stored", crd.Name, v.Name, v.Served, v.Storage, kind.Version)
		}
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

// TestDeploymentTakesOver: the labels are the selector of a Deployment that may already exist: a selector cannot be changed.
func TestDeploymentTakesOver(t *testing.T) {
	all := documents(t)
	d, container := deployment(t, all)
	labels := map[string]string{"control-plane": "kubeflow-training-operator"}
	service := into[corev1.Service](t, all, "kubeflow/Service/training-operator")
	for where, found := range map[string]map[string]string{"selector": d.Spec.Selector.MatchLabels,
		"pods": d.Spec.Template.Labels, "deployment": d.Labels, "service": service.Spec.Selector} {
		if diff := cmp.Diff(labels, found); diff != "" {
			t.Errorf("labels of %s (-wanted +found):\n%s", where, diff)
		}
	}
	if diff := cmp.Diff([]string{"controller", "--leader-elect", "--zap-log-level-file=/etc/training-operator/log-level"}, container.Args); diff != "" {
		t.Errorf("args (-wanted +found):\n%s", diff)
	}
	if container.Name != "training-operator" || *d.Spec.Replicas != 1 || d.Spec.Template.Spec.ServiceAccountName != "training-operator" {
		t.Errorf("container %s, %d replicas, service account %s", container.Name, *d.Spec.Replicas, d.Spec.Template.Spec.ServiceAccountName)
	}
}

// TestRestricted: the pod meets the "restricted" Pod Security level, and has a read-only file system.
func TestRestricted(t *testing.T) {
	d, container := deployment(t, documents(t))
	pod := d.Spec.Template.Spec
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.ConfigMap == nil }) {
		t.Errorf("the pod reaches out of itself: %+v", pod)
	}
	yes, no := true, false
	if diff := cmp.Diff(&corev1.PodSecurityContext{RunAsNonRoot: &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}, pod.SecurityContext); diff != "" {
		t.Errorf("pod security (-wanted +found):\n%s", diff)
	}
	if diff := cmp.Diff(&corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}, container.SecurityContext); diff != "" {
		t.Errorf("container security (-wanted +found):\n%s", diff)
	}
}

func TestPortsAndProbes(t *testing.T) {
	all := documents(t)
	_, container := deployment(t, all)
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"metrics": 8080, "probes": 8081}, ports); diff != "" {
		t.Errorf("ports (-wanted +found):\n%s", diff)
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port != intstr.FromString("probes") {
			t.Errorf("no probe of %s on the probe port: %+v", path, probe)
		}
	}
	service := into[corev1.Service](t, all, "kubeflow/Service/training-operator")
	port := service.Spec.Ports[0]
	if port.Name != "monitoring-port" || port.Port != 8080 || port.TargetPort != intstr.FromString("metrics") {
		t.Errorf("service port %+v", port)
	}
	if service.Annotations["prometheus.io/scrape"] != "true" || service.Annotations["prometheus.io/port"] != "8080" {
		t.Errorf("scrape annotations %v", service.Annotations)
	}
}

func TestEnvironment(t *testing.T) {
	_, container := deployment(t, documents(t))
	found := map[string]string{}
	for _, v := range container.Env {
		switch from := v.ValueFrom; {
		case from == nil:
			found[v.Name] = v.Value
		case from.FieldRef != nil:
			found[v.Name] = from.FieldRef.FieldPath
		case from.ResourceFieldRef != nil:
			found[v.Name] = from.ResourceFieldRef.Resource
		}
	}
	want := map[string]string{"MY_POD_NAMESPACE": "metadata.namespace", "MY_POD_NAME": "metadata.name"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("environment (-wanted +found):\n%s", diff)
	}
	if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources %+v: the garbage collector needs a memory limit to go by", container.Resources)
	}
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

// TestLogLevelIsMounted: the log level is a key of a ConfigMap that need not exist.
func TestLogLevelIsMounted(t *testing.T) {
	d, container := deployment(t, documents(t))
	volumes := d.Spec.Template.Spec.Volumes
	if len(volumes) != 1 || volumes[0].ConfigMap == nil || volumes[0].ConfigMap.Optional == nil || !*volumes[0].ConfigMap.Optional {
		t.Fatalf("volumes %+v, want one of a ConfigMap that is optional", volumes)
	}
	if len(container.VolumeMounts) != 1 || container.VolumeMounts[0].Name != volumes[0].Name || !container.VolumeMounts[0].ReadOnly ||
		!slices.ContainsFunc(container.Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--zap-log-level-file="+container.VolumeMounts[0].MountPath+"/")
		}) {
		t.Errorf("the file of --zap-log-level-file in %v is not in what is mounted: %+v", container.Args, container.VolumeMounts)
	}
}

// TestMetricsSecure: the component adds the flag, the scheme for Prometheus, the permission for the two reviews that the operator
// creates, and a role for scrapers that nothing binds.
func TestMetricsSecure(t *testing.T) {
	all := kustomize(t, overlay(t, checkout(t), "resources: [$]\ncomponents: [$/metrics-secure]\n"))
	want := append(wanted(), "ClusterRole/training-operator-metrics-auth", "ClusterRole/training-operator-metrics-reader", "ClusterRoleBinding/training-operator-metrics-auth")
	slices.Sort(want)
	if diff := cmp.Diff(want, ids(all)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if _, container := deployment(t, all); container.Args[0] != "controller" || !slices.Contains(container.Args, "--metrics-secure") {
		t.Errorf("args %v", container.Args)
	}
	if service := into[corev1.Service](t, all, "kubeflow/Service/training-operator"); service.Annotations["prometheus.io/scheme"] != "https" {
		t.Errorf("annotations %v", service.Annotations)
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"auth": {{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}}},
		"reader": {{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	} {
		if diff := cmp.Diff(rules, into[rbacv1.ClusterRole](t, all, "ClusterRole/training-operator-metrics-"+name).Rules); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

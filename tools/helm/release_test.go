package helm

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	releasecommon "helm.sh/helm/v4/pkg/release/common"
	releases "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// recordedSecret records the Secret that Helm would create.
type recordedSecret struct {
	clientv1.SecretInterface
	secret *corev1.Secret
}

func (r *recordedSecret) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	r.secret = secret
	return secret, nil
}

// TestReleaseFitsInASecret checks that Helm can store a release, with all files of the chart and everything rendered, in one compressed
// Secret. The API server accepts 1 MiB; a third of it is kept free.
func TestReleaseFitsInASecret(t *testing.T) {
	c := loadWholeChart(t)
	rendered, err := render(c, parse(t, "dashboards: {enabled: true}\nprometheusRule: {render: alwaysRender}"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded recordedSecret
	err = driver.NewSecrets(&recorded).Create("sh.helm.release.v1.training-operator.v1", &releases.Release{
		Name: release, Namespace: namespace, Version: 1, Chart: c, Config: map[string]any{}, Manifest: text(rendered),
		Info: &releases.Info{Status: releasecommon.StatusDeployed},
	})
	if err != nil {
		t.Fatal(err)
	}
	if size := len(recorded.secret.Data["release"]); size < 100_000 || size > 700_000 {
		t.Errorf("a release takes %d bytes of %d", size, corev1.MaxSecretSize)
	}
}

// TestDocumentsAreStrict checks that each rendered document, of the chart and of the overlays, can be read into the type of its kind
// without unknown fields, also where a name is a word that YAML reads as another type.
func TestDocumentsAreStrict(t *testing.T) {
	documents := kustomize(t, "deploy/overlays/monitoring")
	for _, file := range []string{"service-monitor-secure/service-monitor.yaml", "pod-monitor/pod-monitor.yaml"} {
		component, err := os.ReadFile(root + "/deploy/components/" + file)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(component))
	}
	for _, name := range []string{"123", "true", "null", "1e3"} {
		values := strings.ReplaceAll(`
metrics: {secure: true, readers: [{namespace: '1', name: '2'}], certificate: {certManager: {enabled: true}}}
networkPolicy: {enabled: true}
podDisruptionBudget: {enabled: true}
dashboards: {enabled: true, labels: {'NAME': 'NAME'}}
serviceMonitor: {render: alwaysRender}
prometheusRule: {render: alwaysRender, labels: {a: 'NAME'}}
gangSchedulerName: volcano
watchNamespace: '123'
commonLabels: {a: 'NAME'}
podAnnotations: {a: 'NAME: b', b: 'NAME # c'}
extraEnv: [{name: A, value: 'NAME'}]
nodeSelector: {a: 'NAME'}
priorityClassName: 'a'
`, "NAME", name)
		rendered, err := renderIn(loadChart(t), place{release: name, namespace: name}, parse(t, values))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, objectDocuments(rendered)...)
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	for _, document := range documents {
		if err := readStrictly(types, document); err != nil {
			t.Errorf("%v\n%s", err, document[:min(len(document), 1000)])
		}
	}
	if readStrictly(types, "apiVersion: v1\nkind: Service\nmetadata: {name: 123}\n") == nil {
		t.Error("a number as a name was accepted")
	}
}

func readStrictly(types *runtime.Scheme, document string) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		return err
	}
	if head.Kind == "" || slices.Contains([]string{"Certificate", "Issuer", "CustomResourceDefinition"}, head.Kind) {
		return nil // without available types
	}
	object, err := types.New(runtimeschema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if err != nil {
		return err
	}
	encoded, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(encoded, object)
	return errors.Join(append(unknown, err)...)
}

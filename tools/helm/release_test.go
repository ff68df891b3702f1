package helm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	releasecommon "helm.sh/helm/v4/pkg/release/common"
	releases "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestNamesAreQuoted checks that each rendered document can be read, and a Deployment without unknown fields, also where a name is a word
// that YAML reads as another type.
func TestNamesAreQuoted(t *testing.T) {
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
		for _, document := range objectDocuments(rendered) {
			if err := readStrictly(document); err != nil {
				t.Errorf("%v\n%s", err, document[:min(len(document), 1000)])
			}
		}
	}
	if readStrictly("apiVersion: v1\nkind: Service\nmetadata: {name: 123}\n") == nil {
		t.Error("a number as a name was accepted")
	}
}

func readStrictly(document string) error {
	encoded, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return err
	}
	var head metav1.PartialObjectMetadata
	if err := json.Unmarshal(encoded, &head); err != nil || head.Kind != "Deployment" {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(encoded, &appsv1.Deployment{})
	return errors.Join(append(unknown, err)...)
}

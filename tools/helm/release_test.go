package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	loader4 "helm.sh/helm/v4/pkg/chart/v2/loader"
	releasecommon "helm.sh/helm/v4/pkg/release/common"
	releases "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"
)

// created records the Secret that Helm would create.
type created struct {
	clientv1.SecretInterface
	secret *corev1.Secret
}

func (c *created) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	c.secret = secret
	return secret, nil
}

// TestReleaseFitsInASecret: Helm stores a release, with all files of the chart and everything rendered, in one compressed Secret. The API
// server accepts 1 MiB. A third of it is kept free for dashboards and rules, and for CRDs that grow.
func TestReleaseFitsInASecret(t *testing.T) {
	chart, err := loader4.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := helm4{chart}.render(parse(t, "dashboards: {enabled: true}\nprometheusRule: {render: alwaysRender}"))
	if err != nil {
		t.Fatal(err)
	}
	var into created
	err = driver.NewSecrets(&into).Create("sh.helm.release.v1.training-operator.v1", &releases.Release{
		Name: release, Namespace: namespace, Version: 1, Chart: chart, Config: map[string]any{}, Manifest: text(rendered),
		Info: &releases.Info{Status: releasecommon.StatusDeployed},
	})
	if err != nil {
		t.Fatal(err)
	}
	size := len(into.secret.Data["release"])
	t.Logf("a release takes %d bytes", size)
	if size < 200_000 || size > 700_000 {
		t.Errorf("a release takes %d bytes of %d", size, corev1.MaxSecretSize)
	}
}

// TestRunbooks: each alert of the chart links to the configured address of the runbooks, and to no other.
func TestRunbooks(t *testing.T) {
	rules, err := os.ReadFile(chartDir + "/files/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	helms := load(t, map[string]string{"files/rules.yaml": string(rules)})
	rendered := objects(t, documents(both(t, helms, parse(t, "crds: {enabled: false}\nprometheusRule: {render: alwaysRender, runbooks: 'https://git.example.com/r/'}"))))
	alerts := 0
	for _, object := range rendered {
		text := fmt.Sprint(object)
		if object["kind"] == "PrometheusRule" {
			alerts = strings.Count(text, "alert:")
			if here := strings.Count(text, "runbook_url:https://git.example.com/r/Training"); here != alerts {
				t.Errorf("%d of %d alerts lead to the runbooks", here, alerts)
			}
		}
		if strings.Contains(text, "example.org/stoic") {
			t.Errorf("%s %v leads elsewhere", object["kind"], object["metadata"])
		}
	}
	if alerts == 0 {
		t.Error("there are no alerts")
	}
}

// TestRulesAndDashboardsOfTheChart: the rules and dashboards in the chart are rendered unchanged, including braces.
func TestRulesAndDashboardsOfTheChart(t *testing.T) {
	rules, err := os.ReadFile(chartDir + "/files/rules.yaml")
	files := map[string]string{}
	if err == nil {
		files["files/rules.yaml"] = string(rules)
	} else if !os.IsNotExist(err) {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(chartDir + "/dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		dashboard, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files["dashboards/"+filepath.Base(path)] = string(dashboard)
	}
	for name, files := range map[string]map[string]string{"of a test": other(), "of the chart": files} {
		rendered := objects(t, documents(both(t, load(t, files), parse(t, "crds: {enabled: false}\ndashboards: {enabled: true}\nprometheusRule: {render: alwaysRender}"))))
		configMaps := 0
		for id, object := range rendered {
			switch object["kind"] {
			case "PrometheusRule":
				var want any
				if err := yaml.Unmarshal([]byte(files["files/rules.yaml"]), &want); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, object["spec"]); diff != "" {
					t.Errorf("%s: rules (-want +got):\n%s", name, diff)
				}
			case "ConfigMap":
				configMaps++
				for key, value := range object["data"].(map[string]any) {
					if !json.Valid([]byte(value.(string))) || strings.TrimSpace(value.(string)) != strings.TrimSpace(files["dashboards/"+key]) {
						t.Errorf("%s: %s: %s is not the dashboard", name, id, key)
					}
				}
			}
		}
		if _, has := rendered["kubeflow/PrometheusRule/training-operator"]; has != (files["files/rules.yaml"] != "") {
			t.Errorf("%s: rules are rendered: %v", name, has)
		}
		want := len(files)
		if files["files/rules.yaml"] != "" {
			want--
		}
		if configMaps != want {
			t.Errorf("%s: %d dashboards, want %d", name, configMaps, want)
		}
	}
}

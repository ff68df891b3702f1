package helm

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../.."
	chartDir  = root + "/deploy/chart"
	release   = "training-operator"
	namespace = "kubeflow"
	notes     = "training-operator/templates/NOTES.txt"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// place is where a release is installed, and under which name.
type place struct {
	release, namespace string
	served             []string // kinds that the cluster serves, as group/version/Kind
	deployments        *fakeDeployments
}

// fakeDeployments gives Helm's function lookup the Deployments of a cluster.
type fakeDeployments struct {
	dynamic.NamespaceableResourceInterface
}

func clusterWith(deployments ...runtime.Object) *fakeDeployments {
	resource := runtimeschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[runtimeschema.GroupVersionResource]string{resource: "DeploymentList"}, deployments...)
	return &fakeDeployments{client.Resource(resource)}
}

func (d *fakeDeployments) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if apiVersion != "apps/v1" || kind != "Deployment" {
		return nil, false, fmt.Errorf("looked up %s %s", apiVersion, kind)
	}
	return d.NamespaceableResourceInterface, true, nil
}

// loadChart reads the chart. The rules and dashboards, which other parts of the project write, are replaced by small ones, so that the
// snapshots do not depend on them.
func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c := loadWholeChart(t)
	c.Files = slices.DeleteFunc(c.Files, func(f *common.File) bool {
		return f.Name == "files/rules.yaml" || strings.HasPrefix(f.Name, "dashboards/")
	})
	rules := "# Of a test.\ngroups:\n- name: test\n  rules:\n  - alert: Down\n    expr: up == 0\n    annotations:\n      summary: '{{ $labels.job }} is down.'\n      runbook_url: https://example.org/stoic/docs/runbooks/Down.md\n"
	dashboard := "{\n  \"title\": \"{{job}}\"\n}\n"
	c.Files = append(c.Files, &common.File{Name: "files/rules.yaml", Data: []byte(rules)}, &common.File{Name: "dashboards/operator.json", Data: []byte(dashboard)})
	return c
}

func loadWholeChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatalf("load the chart: %v", err)
	}
	return c
}

// render returns the text of each template, or why Helm rejects the values.
func render(c *chart.Chart, values map[string]any, served ...string) (map[string]string, error) {
	return renderIn(c, place{release: release, namespace: namespace, served: served}, values)
}

func renderIn(c *chart.Chart, p place, values map[string]any) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), p.served...)
	options := common.ReleaseOptions{Name: p.release, Namespace: p.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	if p.deployments != nil {
		return engine.RenderWithClientProvider(c, all, p.deployments)
	}
	return engine.Render(c, all)
}

func mustRender(t *testing.T, values string, served ...string) map[string]string {
	t.Helper()
	rendered, err := render(loadChart(t), parse(t, values), served...)
	if err != nil {
		t.Fatalf("render with %q: %v", values, err)
	}
	return rendered
}

// parse reads values that are written as YAML.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatalf("parse the values %q: %v", text, err)
	}
	return values
}

// objectDocuments splits rendered templates into documents, without NOTES.txt.
func objectDocuments(rendered map[string]string) []string {
	return split(rendered, func(name string) bool { return name != notes })
}

// split returns the documents of some templates.
func split(rendered map[string]string, which func(name string) bool) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if !which(name) {
			continue
		}
		for _, document := range strings.Split("\n"+rendered[name], "\n---") {
			if strings.Contains(document, "\nkind:") {
				all = append(all, document)
			}
		}
	}
	return all
}

// objects parses documents, and returns them by kind, namespace and name.
func objects(t *testing.T, documents []string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, document := range documents {
		object := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatalf("parse %s: %v", document[:min(len(document), 500)], err)
		}
		metadata, _ := object["metadata"].(map[string]any)
		id := fmt.Sprint(object["kind"], "/", metadata["name"])
		if in, local := metadata["namespace"]; local {
			id = fmt.Sprint(in, "/", id)
		}
		if found[id] != nil {
			t.Errorf("%s is rendered twice", id)
		}
		found[id] = object
	}
	return found
}

// text joins everything that is rendered, in the order of the templates' names, without empty ones.
func text(rendered map[string]string) string {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if body := strings.TrimSpace(rendered[name]); body != "" {
			fmt.Fprintf(&out, "# %s\n%s\n", strings.TrimPrefix(name, "training-operator/templates/"), body)
		}
	}
	return out.String()
}

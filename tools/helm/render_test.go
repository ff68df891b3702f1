package helm

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	chart3 "helm.sh/helm/v3/pkg/chart"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	util3 "helm.sh/helm/v3/pkg/chartutil"
	engine3 "helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart4 "helm.sh/helm/v4/pkg/chart/v2"
	loader4 "helm.sh/helm/v4/pkg/chart/v2/loader"
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

// helm is one of the two versions of Helm.
type helm interface {
	// render returns the text of each template, or why a value is rejected. The cluster serves the given kinds, as group/version/Kind.
	render(values map[string]any, served ...string) (map[string]string, error)
	// renderIn is render for a given place.
	renderIn(p place, values map[string]any) (map[string]string, error)
}

// place is where a release is installed, and under which name.
type place struct {
	release, namespace string
	served             []string
	// there are the Deployments of the cluster; nil means no cluster, as with helm template.
	there *clients
}

// clients give Helm's function lookup the Deployments of a cluster, whichever it requests.
type clients struct {
	dynamic.NamespaceableResourceInterface
}

func clusterWith(deployments ...runtime.Object) *clients {
	resource := runtimeschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	all := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[runtimeschema.GroupVersionResource]string{resource: "DeploymentList"}, deployments...)
	return &clients{all.Resource(resource)}
}

func (c *clients) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if apiVersion != "apps/v1" || kind != "Deployment" {
		return nil, false, fmt.Errorf("looked up %s %s", apiVersion, kind)
	}
	return c.NamespaceableResourceInterface, true, nil
}

// helm4 holds a chart for Helm 4, to which tests may add files.
type helm4 struct{ chart *chart4.Chart }

// helm3 is the same for Helm 3.
type helm3 struct{ chart *chart3.Chart }

// load reads the chart with both versions. The given files replace what other parts of the project generate into it (rules and
// dashboards), so that the tests do not depend on them.
func load(t *testing.T, files map[string]string) map[string]helm {
	t.Helper()
	four, err := loader4.LoadDir(chartDir)
	if err != nil {
		t.Fatalf("load the chart with Helm 4: %v", err)
	}
	three, err := loader3.LoadDir(chartDir)
	if err != nil {
		t.Fatalf("load the chart with Helm 3: %v", err)
	}
	foreign := func(name string) bool {
		return name == "files/rules.yaml" || strings.HasPrefix(name, "dashboards/")
	}
	four.Files = slices.DeleteFunc(four.Files, func(f *common.File) bool { return foreign(f.Name) })
	three.Files = slices.DeleteFunc(three.Files, func(f *chart3.File) bool { return foreign(f.Name) })
	for name, text := range files {
		four.Files = append(four.Files, &common.File{Name: name, Data: []byte(text)})
		three.Files = append(three.Files, &chart3.File{Name: name, Data: []byte(text)})
	}
	return map[string]helm{"Helm 4": helm4{four}, "Helm 3": helm3{three}}
}

func (h helm4) render(values map[string]any, served ...string) (map[string]string, error) {
	return h.renderIn(place{release: release, namespace: namespace, served: served}, values)
}

func (h helm4) renderIn(p place, values map[string]any) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), p.served...)
	all, err := util.ToRenderValues(h.chart, values, common.ReleaseOptions{Name: p.release, Namespace: p.namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	if p.there != nil {
		return engine.RenderWithClientProvider(h.chart, all, p.there)
	}
	return engine.Render(h.chart, all)
}

func (h helm3) render(values map[string]any, served ...string) (map[string]string, error) {
	return h.renderIn(place{release: release, namespace: namespace, served: served}, values)
}

func (h helm3) renderIn(p place, values map[string]any) (map[string]string, error) {
	capabilities := util3.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), p.served...)
	all, err := util3.ToRenderValues(h.chart, values, util3.ReleaseOptions{Name: p.release, Namespace: p.namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	if p.there != nil {
		return engine3.RenderWithClientProvider(h.chart, all, p.there)
	}
	return engine3.Render(h.chart, all)
}

// both renders with the two versions, whose results must be identical.
func both(t *testing.T, helms map[string]helm, values map[string]any, served ...string) map[string]string {
	t.Helper()
	four, err := helms["Helm 4"].render(values, served...)
	if err != nil {
		t.Fatalf("render with Helm 4: %v", err)
	}
	three, err := helms["Helm 3"].render(values, served...)
	if err != nil {
		t.Fatalf("render with Helm 3: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(four)) {
		if four[name] != three[name] {
			t.Errorf("%s: Helm 4 renders\n%s\nand Helm 3\n%s", name, four[name], three[name])
		}
	}
	if len(four) != len(three) {
		t.Errorf("Helm 4 renders %d templates, Helm 3 %d", len(four), len(three))
	}
	return four
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

// documents splits rendered templates into documents, without NOTES.txt.
func documents(rendered map[string]string) []string {
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

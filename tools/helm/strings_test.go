package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// odd returns strings that YAML reads as other values if a template does not quote them.
func odd() []string { return []string{"123", "true", "null", "1e3", "a: b", "x # y"} }

// types returns those of Kubernetes and of the Prometheus operator.
func types(t *testing.T) *runtime.Scheme {
	t.Helper()
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// untyped returns kinds of the chart without available types: they are read as maps.
func untyped() []string { return []string{"Certificate", "Issuer", "CustomResourceDefinition"} }

// strict reads a document into the type of its kind. Every field must be known and have the right type.
func strict(types *runtime.Scheme, document string) (any, error) {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		return nil, err
	}
	var object any
	typed, err := types.New(runtimeschema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	switch {
	case err == nil:
		object = typed
	case slices.Contains(untyped(), head.Kind):
		object = &map[string]any{}
	default:
		return nil, err
	}
	// yaml.UnmarshalStrict is not used, because it converts a number to a string where the type requires one.
	encoded, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		return nil, err
	}
	unknown, err := kjson.UnmarshalStrict(encoded, object)
	return object, errors.Join(append(unknown, err)...)
}

// leaf is a string among the values.
type leaf struct {
	path string // as an error of a schema has it: /extraEnv/0/name
	kind string // with indices and free keys replaced: /extraEnv/[]/name
	key  bool   // the key of a map, not a value
	set  func(to string)
}

// leaves returns the strings of a value that is part of a map or list; put replaces the value there.
func leaves(path, kind string, value any, free func(kind string) bool, put func(any)) (found []leaf) {
	switch value := value.(type) {
	case string:
		return []leaf{{path: path, kind: kind, set: func(to string) { put(to) }}}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below := kind + "/" + key
			if free(kind) {
				below = kind + "/*"
				found = append(found, leaf{path: path, kind: kind + "/*", key: true, set: func(to string) {
					was := value[key]
					delete(value, key)
					value[to] = was
				}})
			}
			found = append(found, leaves(path+"/"+key, below, value[key], free, func(to any) { value[key] = to })...)
		}
	case []any:
		for i := range value {
			found = append(found, leaves(fmt.Sprintf("%s/%d", path, i), kind+"/[]", value[i], free, func(to any) { value[i] = to })...)
		}
	}
	return found
}

// inSchema lists the strings that the schema lets a user choose, in the form of leaf.kind, and the maps whose keys the user chooses.
func inSchema(t *testing.T) (values, free map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	values, free = map[string]bool{}, map[string]bool{}
	var walk func(kind string, schema map[string]any)
	walk = func(kind string, schema map[string]any) {
		if to, is := schema["$ref"].(string); is {
			schema = top["definitions"].(map[string]any)[strings.TrimPrefix(to, "#/definitions/")].(map[string]any)
		}
		if strings.Contains(fmt.Sprint(schema["type"]), "string") && schema["enum"] == nil {
			values[kind] = true
		}
		if keys, is := schema["patternProperties"].(map[string]any); is {
			free[kind] = true
			for _, all := range keys {
				walk(kind+"/*", all.(map[string]any))
			}
		}
		if items, is := schema["items"].(map[string]any); is {
			walk(kind+"/[]", items)
		}
		properties, _ := schema["properties"].(map[string]any)
		for key, below := range properties {
			if below, is := below.(map[string]any); is { // false: this key is the chart's own
				walk(kind+"/"+key, below)
			}
		}
	}
	walk("", top)
	return values, free
}

// TestStringsStayStrings: any string as a value, or as a key that the user chooses, is rendered as that string, or is rejected with its
// path. Every rendered document is valid for its kind.
func TestStringsStayStrings(t *testing.T) {
	types := types(t)
	wanted, free := inSchema(t)
	tried := map[string]bool{}
	for name, h := range load(t, other()) {
		for _, written := range used() {
			_, full, has := strings.Cut(written, "; ")
			if !has {
				full = written
			}
			count := len(leaves("", "", parse(t, full), func(kind string) bool { return free[kind] }, nil))
			for i := range count {
				for _, text := range odd() {
					values := parse(t, full)
					one := leaves("", "", values, func(kind string) bool { return free[kind] }, nil)[i]
					one.set(text)
					tried[one.kind] = tried[one.kind] || !one.key
					merge(values, map[string]any{"crds": map[string]any{"enabled": false}})
					rendered, err := h.render(values)
					if err != nil {
						if !strings.Contains(err.Error(), "'"+one.path+"'") && !strings.Contains(err.Error(), strings.ReplaceAll(strings.Trim(one.path, "/"), "/", ".")) {
							t.Errorf("%s: %s: %q: refused, without its name: %v", name, one.path, text, err)
						}
						continue
					}
					if err := comesOut(types, rendered, text); err != nil {
						t.Errorf("%s: %s: %q: %v", name, one.path, text, err)
					}
				}
			}
		}
	}
	for kind := range wanted {
		if !tried[kind] {
			t.Errorf("%s was not tried: used has no string there", kind)
		}
	}
}

// comesOut reads all documents strictly. One of them must have a string that contains the text, or a key that equals it.
func comesOut(types *runtime.Scheme, rendered map[string]string, text string) error {
	found := false
	for _, document := range split(rendered, func(name string) bool { return name != notes }) {
		object, err := strict(types, document)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, document)
		}
		encoded, err := json.Marshal(object)
		if err != nil {
			return err
		}
		var content any
		if err := json.Unmarshal(encoded, &content); err != nil {
			return err
		}
		found = found || has(content, text)
	}
	if !found && !strings.Contains(rendered[notes], text) {
		return fmt.Errorf("is in nothing that is rendered")
	}
	return nil
}

func has(content any, text string) bool {
	switch content := content.(type) {
	case string:
		return strings.Contains(content, text)
	case []any:
		return slices.ContainsFunc(content, func(below any) bool { return has(below, text) })
	case map[string]any:
		for key, below := range content {
			if key == text || has(below, text) {
				return true
			}
		}
	}
	return false
}

// TestOddPlaces: a namespace and a release may have names that are numbers or words of YAML.
func TestOddPlaces(t *testing.T) {
	types := types(t)
	for name, h := range load(t, other()) {
		for _, odd := range []string{"123", "true", "null", "1e3"} {
			rendered, err := h.renderIn(place{release: odd, namespace: odd}, parse(t, `
crds: {enabled: false}
metrics: {secure: true, readers: [{namespace: '1', name: '2'}], certificate: {certManager: {enabled: true}}}
networkPolicy: {enabled: true}
podDisruptionBudget: {enabled: true}
dashboards: {enabled: true}
serviceMonitor: {render: alwaysRender}
prometheusRule: {render: alwaysRender}
gangSchedulerName: volcano
watchNamespace: '123'
`))
			if err != nil {
				t.Errorf("%s: %s: %v", name, odd, err)
			} else if err := comesOut(types, rendered, odd); err != nil {
				t.Errorf("%s: %s: %v", name, odd, err)
			}
		}
	}
}

// TestNoKeyTwice: labels from several values are merged into one map, and those of one object take precedence.
func TestNoKeyTwice(t *testing.T) {
	rendered := both(t, load(t, other()), parse(t, `
crds: {enabled: false}
commonLabels: {team: a, tier: b}
serviceMonitor: {render: alwaysRender, labels: {team: c}}
dashboards: {enabled: true, labels: {team: d}}
`))
	teams := map[string]string{}
	for id, object := range objects(t, documents(rendered)) {
		labels := object["metadata"].(map[string]any)["labels"].(map[string]any)
		teams[fmt.Sprint(object["kind"])] = fmt.Sprint(labels["team"], labels["tier"])
		if labels["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("%s: %v", id, labels)
		}
	}
	for kind, want := range map[string]string{"Deployment": "ab", "ServiceMonitor": "cb", "ConfigMap": "db"} {
		if teams[kind] != want {
			t.Errorf("labels of %s: %s, want %s", kind, teams[kind], want)
		}
	}
}

// TestOneOperatorInANamespace: a second operator would wait for the lease of the first, so it is rejected.
func TestOneOperatorInANamespace(t *testing.T) {
	deployment := func(namespace, name, label, of string) runtime.Object {
		var object map[string]any
		text := fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %s, name: %s, labels: {control-plane: %s}, annotations: {meta.helm.sh/release-name: %s}}}", namespace, name, label, of)
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return &unstructured.Unstructured{Object: object}
	}
	const ours = "kubeflow-training-operator"
	for name, h := range load(t, nil) {
		for what, c := range map[string]struct {
			there  *clients
			refuse bool
		}{
			"nothing there":               {clusterWith(), false},
			"another program":             {clusterWith(deployment(namespace, "web", "other", "web")), false},
			"the one that is upgraded":    {clusterWith(deployment(namespace, "training-operator", ours, release)), false},
			"what kustomize installed":    {clusterWith(deployment(namespace, "training-operator", ours, "''")), false},
			"a new name of the release":   {clusterWith(deployment(namespace, "old-name", ours, release)), false},
			"another release":             {clusterWith(deployment(namespace, "second", ours, "second")), true},
			"another one, by kustomize":   {clusterWith(deployment(namespace, "second", ours, "''")), true},
			"one in another namespace":    {clusterWith(deployment("elsewhere", "second", ours, "second")), false},
			"a Deployment without labels": {clusterWith(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": "bare"}}}), false},
		} {
			_, err := h.renderIn(place{release: release, namespace: namespace, there: c.there}, nil)
			if refused := err != nil && strings.Contains(err.Error(), "has a training operator already, the Deployment second"); refused != c.refuse || err != nil && !refused {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

// TestKustomizeIsStrict: what the overlays install is valid, too, including the objects of the Prometheus operator.
func TestKustomizeIsStrict(t *testing.T) {
	types := types(t)
	kinds := map[string]int{}
	for _, dir := range []string{"deploy", "deploy/monitoring", "deploy/overlays/ha", "deploy/overlays/namespaced", "deploy/overlays/cert-manager", "deploy/overlays/monitoring"} {
		for _, document := range kustomize(t, dir) {
			object, err := strict(types, document)
			if err != nil {
				t.Errorf("%s: %v\n%s", dir, err, document[:min(len(document), 1000)])
			}
			if typed, is := object.(runtime.Object); is {
				kinds[typed.GetObjectKind().GroupVersionKind().Kind]++
			}
		}
	}
	for _, kind := range []string{"Deployment", "ServiceMonitor", "PrometheusRule", "ClusterRole", "PodDisruptionBudget"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was read: %v", kind, kinds)
		}
	}
	for _, wrong := range []string{
		"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec: {endpoint: []}\n",
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec: {groups: [{name: 1}]}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: 123}\n", "apiVersion: v1\nkind: Unknown\n",
	} {
		if _, err := strict(types, wrong); err == nil {
			t.Errorf("is taken: %s", wrong)
		}
	}
}

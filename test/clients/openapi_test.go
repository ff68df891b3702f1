package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/operator"
	"stoic/training/kinds"
)

// prefix of the names of the schemas of kubeflow.org/v1.
const prefix = "org.kubeflow.v1."

// document is the compared part of an OpenAPI document of version 3.
type document struct {
	Components struct {
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`
	Paths map[string]map[string]any `json:"paths"`
}

// ours returns the schemas of kubeflow.org/v1. In openapi.json repeated schemas have a name and occur once; they are put back to
// where an API server has them.
func (d document) ours() map[string]any {
	found := map[string]any{}
	for name, schema := range d.Components.Schemas {
		if d.isKind(name) {
			found[name] = d.expand(schema)
		}
	}
	return found
}

// isKind reports whether a schema of the group is a kind or a list: these name their kind.
func (d document) isKind(name string) bool {
	schema, _ := d.Components.Schemas[name].(map[string]any)
	return strings.HasPrefix(name, prefix) && schema["x-kubernetes-group-version-kind"] != nil
}

func (d document) expand(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if ref, _ := v["$ref"].(string); ref != "" {
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			if strings.HasPrefix(name, prefix) && !d.isKind(name) {
				return d.expand(d.Components.Schemas[name])
			}
			return v
		}
		all := map[string]any{}
		for key, member := range v {
			all[key] = d.expand(member)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = d.expand(v[i])
		}
		return all
	}
	return value
}

// requests returns the method and the name of each operation, by path. Their parameters depend on the release of Kubernetes.
func (d document) requests() map[string]map[string]string {
	found := map[string]map[string]string{}
	for path, methods := range d.Paths {
		for method, operation := range methods {
			if o, is := operation.(map[string]any); is {
				if found[path] == nil {
					found[path] = map[string]string{}
				}
				found[path][method], _ = o["operationId"].(string)
			}
		}
	}
	delete(found, "/apis/kubeflow.org/v1/") // the list of resources, which belongs to no CRD
	return found
}

// published: the clients were generated from what an API server publishes of the CRDs.
func published(t *testing.T, r *rig) {
	var stored, live document
	text, err := os.ReadFile(filepath.Join(root, "clients/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	want := stored.ours()
	if len(want) != 2*len(kinds.All()) {
		t.Fatalf("openapi.json has %v", slices.Sorted(maps.Keys(want)))
	}
	await(t, "all kinds to be published", func() (bool, string) {
		live = document{}
		text, err := r.typed.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/kubeflow.org/v1").DoRaw(t.Context())
		if err == nil {
			err = json.Unmarshal(text, &live)
		}
		return err == nil && len(live.ours()) == len(want), fmt.Sprintf("%d schemas, %v", len(live.ours()), err)
	})
	if diff := cmp.Diff(want, live.ours()); diff != "" {
		t.Errorf("schemas, - stored + published:\n%s", diff)
	}
	requests := stored.requests()
	if len(requests) < 4*len(kinds.All()) {
		t.Errorf("openapi.json has %d paths", len(requests))
	}
	if diff := cmp.Diff(requests, live.requests()); diff != "" {
		t.Errorf("requests, - stored + published:\n%s", diff)
	}
}

// publishedV2: the document of version 2, which older clients read, has every kind and its requests.
func publishedV2(t *testing.T, r *rig) {
	var found struct {
		Definitions map[string]struct {
			Properties map[string]any
		}
		Paths map[string]any
	}
	for _, kind := range kinds.All() {
		await(t, kind.Name+" in /openapi/v2", func() (bool, string) {
			text, err := r.typed.Discovery().RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(t.Context())
			if err == nil {
				err = json.Unmarshal(text, &found)
			}
			_, there := found.Definitions[prefix+kind.Name]
			return err == nil && there, fmt.Sprintf("%d definitions, %v", len(found.Definitions), err)
		})
		if found.Definitions[prefix+kind.Name].Properties["spec"] == nil {
			t.Errorf("%s has no spec", kind.Name)
		}
		if path := "/apis/kubeflow.org/v1/namespaces/{namespace}/" + kind.Plural; found.Paths[path] == nil {
			t.Errorf("no requests for %s", path)
		}
	}
}

// explained: kubectl explain describes the spec of each kind, from either document.
func explained(t *testing.T, r *rig) {
	for _, kind := range kinds.All() {
		for _, output := range []string{"plaintext", "plaintext-openapiv2"} {
			text, err := operator.Kubectl(t.Context(), r.cluster.Kubeconfig(), nil, "explain", kind.Plural+".spec", "--output="+output)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, field := range []string{"runPolicy", kind.ReplicaSpecsField} {
				if !strings.Contains(text, "\n  "+field+"\t") && !strings.Contains(text, "\n   "+field+"\t") {
					t.Errorf("kubectl explain %s.spec --output=%s does not name %s:\n%s", kind.Plural, output, field, text)
				}
			}
		}
	}
}

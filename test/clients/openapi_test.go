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

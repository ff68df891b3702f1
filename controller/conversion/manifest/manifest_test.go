package manifest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/convert/versions"
)

const storedCRD = `
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Type, type: string, jsonPath: .spec.type}
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: State, type: string, jsonPath: .status.states.a}
    - {name: First, type: string, jsonPath: ".status.states[0]"}
    - {name: Other, type: string, jsonPath: .spec.typeOf}
    selectableFields: [{jsonPath: .spec.type}, {jsonPath: .spec.size}]
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size, type]
            x-kubernetes-validations: [{rule: "self.type != 'x'"}, {rule: "self.size > 0"}, {rule: "self.typeOf == 'x'"}]
            properties:
              type: {type: string, default: Copy, enum: [Copy, Link]}
              typeOf: {type: string}
              size: {type: integer}
              policy: {type: object, properties: {clean: {type: string}, suspend: {type: boolean}}, required: [clean]}
              replicas: {type: integer}
              template: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object}}, required: [spec]}
          status:
            type: object
            properties: {states: {type: array, items: {type: string}}, replicas: {type: integer}, selector: {type: string}}
`

func stored(t *testing.T) *crdv1.CustomResourceDefinition {
	t.Helper()
	crd := &crdv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(storedCRD), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func kind(v ...versions.Version) versions.Kind {
	return versions.Kind{Group: "example.com", Name: "Gadget", Hub: "v1", Annotation: "example.com/conversion", Versions: v}
}

// TestCRD: a version is described as its table says.
func TestCRD(t *testing.T) {
	url := "https://127.0.0.1/convert"
	before := stored(t)
	crd, err := CRD(before, kind(
		versions.Version{Name: "v1beta1",
			Moves: []versions.Move{{Here: "spec.mode", Hub: "spec.type", Default: "Link", HubDefault: "Copy"}, {Here: "spec.clean", Hub: "spec.policy.clean"}, {Here: "status.all", Hub: "status.states"}},
			Only:  []string{"spec.chief", "data"}, HubOnly: []string{"spec.policy", "spec.size"}},
		versions.Version{Name: "v1alpha1", HubOnly: []string{"spec.replicas"}},
		versions.Version{Name: "v2", Only: []string{"spec.x"}}),
		crdv1.WebhookClientConfig{URL: &url}, crdv1.CustomResourceDefinitionVersion{Name: "v2", Storage: true, Deprecated: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored(t), before); diff != "" {
		t.Errorf("the CRD that it was given has changed:\n%s", diff)
	}
	const want = `
additionalPrinterColumns:
- {name: Type, type: string, jsonPath: .spec.mode}
- {name: State, type: string, jsonPath: .status.all.a}
- {name: First, type: string, jsonPath: ".status.all[0]"}
- {name: Other, type: string, jsonPath: .spec.typeOf}
name: v1beta1
served: true
storage: false
selectableFields: [{jsonPath: .spec.mode}]
subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
schema:
  openAPIV3Schema:
    type: object
    required: [spec]
    properties:
      data: {x-kubernetes-preserve-unknown-fields: true}
      spec:
        type: object
        required: [mode]
        x-kubernetes-validations: [{rule: "self.typeOf == 'x'"}]
        properties:
          mode: {type: string, default: Link, enum: [Copy, Link]}
          typeOf: {type: string}
          clean: {type: string}
          chief: {x-kubernetes-preserve-unknown-fields: true}
          replicas: {type: integer}
          template: {type: object, x-kubernetes-preserve-unknown-fields: true}
      status:
        type: object
        properties: {all: {type: array, items: {type: string}}, replicas: {type: integer}, selector: {type: string}}
`
	var wanted crdv1.CustomResourceDefinitionVersion
	if err := yaml.UnmarshalStrict([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, wanted), text(t, crd.Spec.Versions[1])); diff != "" {
		t.Errorf("v1beta1, -want +got:\n%s", diff)
	}
	if alpha := crd.Spec.Versions[2]; alpha.Subresources.Scale != nil || alpha.Subresources.Status == nil {
		t.Errorf("v1alpha1 has no replicas, and the subresources %+v", alpha.Subresources)
	}
	if v2 := crd.Spec.Versions[3]; !v2.Served || v2.Storage || !v2.Deprecated {
		t.Errorf("v2 has a description of its own, and is %+v", v2)
	}
	if c := crd.Spec.Conversion; c.Strategy != crdv1.WebhookConverter || *c.Webhook.ClientConfig.URL != url || len(c.Webhook.ClientConfig.CABundle) > 0 {
		t.Errorf("conversion: %+v", c)
	}
	if diff := cmp.Diff(text(t, before.Spec.Versions[0]), text(t, crd.Spec.Versions[0])); diff != "" {
		t.Errorf("the stored version has changed:\n%s", diff)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	b, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrongCRDs(t *testing.T) {
	two := stored(t)
	two.Spec.Versions = append(two.Spec.Versions, two.Spec.Versions[0])
	bare := stored(t)
	bare.Spec.Versions[0].Schema = nil
	other := kind()
	other.Name = "Widget"
	for want, c := range map[string]struct {
		crd  *crdv1.CustomResourceDefinition
		kind versions.Kind
	}{
		"is not that of version v1 of kind Widget":          {stored(t), other},
		"is not that of version v1 of kind Gadget":          {two, kind()},
		"the stored version has no schema":                  {bare, kind(versions.Version{Name: "v2"})},
		"the stored version does not describe spec.x":       {stored(t), kind(versions.Version{Name: "v2", Moves: []versions.Move{{Here: "spec.y", Hub: "spec.x"}}})},
		"the stored version does not describe spec.size.of": {stored(t), kind(versions.Version{Name: "v2", HubOnly: []string{"spec.size.of"}})},
		"has no name, or that of another one":               {stored(t), kind(versions.Version{})},
	} {
		if _, err := CRD(c.crd, c.kind, crdv1.WebhookClientConfig{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := Patch(c.crd, c.kind, crdv1.WebhookClientConfig{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("patch: %v, want %s", err, want)
		}
	}
}

// TestWithoutDefaults: none is left, at any depth, and nothing else changes.
func TestWithoutDefaults(t *testing.T) {
	const text = `{type: object, properties: {a: {type: string, default: x}, b: {type: object, default: {}, additionalProperties: {type: integer, default: 7}},
c: {type: array, items: {type: object, properties: {default: {type: string, default: y}}}}, d: {type: object, additionalProperties: true}}}`
	var schema, want crdv1.JSONSchemaProps
	for into, text := range map[*crdv1.JSONSchemaProps]string{&schema: text, &want: strings.NewReplacer(", default: x", "", ", default: {}", "", ", default: 7", "", ", default: y", "").Replace(text)} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	WithoutDefaults(&schema)
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCertificate: it is signed by its authority, for its hosts and time alone.
func TestCertificate(t *testing.T) {
	now := time.Now()
	authority, crt, key, err := Certificate(now, time.Hour, "a.ns.svc", "b", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		t.Fatal("no authority")
	}
	for name, c := range map[string]struct {
		host  string
		at    time.Time
		valid bool
	}{
		"now":             {"a.ns.svc", now, true},
		"a clock behind":  {"b", now.Add(-30 * time.Minute), true},
		"an address":      {"127.0.0.1", now, true},
		"another address": {"127.0.0.2", now, false},
		"too early":       {"b", now.Add(-2 * time.Hour), false},
		"too late":        {"b", now.Add(2 * time.Hour), false},
		"for another one": {"c", now, false},
	} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: c.host, CurrentTime: c.at}); (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if pair.Leaf.IsCA {
		t.Error("it can sign others")
	}
	if _, _, _, err := Certificate(now, time.Hour); err == nil {
		t.Error("made for no host")
	}
}

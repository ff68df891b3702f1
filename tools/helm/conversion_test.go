package helm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const crdsOfVersions = "tfjobs.kubeflow.org mpijobs.kubeflow.org"

// overlayOf renders an overlay of the checkout: the default installation, with these components.
func overlayOf(t *testing.T, components ...string) (documents []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deploy, err := filepath.Abs(root + "/deploy")
	if err != nil {
		t.Fatal(err)
	}
	to, err := filepath.Rel(dir, deploy)
	if err != nil {
		t.Fatal(err)
	}
	text := "namespace: kubeflow\nresources: [$/crd, $/rbac, $/controller]\ncomponents: [$/components/" + strings.Join(components, ", $/components/") + "]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "$", to)), 0o600); err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if to, err = filepath.Rel(checkout, dir); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, to)
}

// clientConfig returns that of the webhook that a CRD names; nil if it names none.
func clientConfig(crd map[string]any) map[string]any {
	at := crd["spec"].(map[string]any)
	for _, key := range []string{"conversion", "webhook", "clientConfig"} {
		at, _ = at[key].(map[string]any)
	}
	return at
}

// TestConversionIsKustomize: with conversion the chart installs what the components versions and mpijob-versions do. Its CRDs contain the
// authority of the certificate, which stoic webhook certificate adds to those of kustomize.
func TestConversionIsKustomize(t *testing.T) {
	want := objects(t, overlayOf(t, "versions", "mpijob-versions"))
	withoutGangs(t, want)
	got := objects(t, documents(both(t, load(t, nil), parse(t, "conversion: {enabled: true, kinds: [TFJob, MPIJob], certificate: {caBundle: "+authority+"}}"))))
	for name := range strings.FieldsSeq(crdsOfVersions) {
		config := clientConfig(got["CustomResourceDefinition/"+name])
		if config["caBundle"] != authority {
			t.Errorf("%s: clientConfig %v", name, config)
		}
		delete(config, "caBundle")
	}
	same(t, want, got)
}

// TestConversionIsSwitched: conversion can be enabled for the pods first, then for the CRDs, and disabled in reverse.
func TestConversionIsSwitched(t *testing.T) {
	helms := load(t, nil)
	certificate := "certificate: {caBundle: " + authority + "}}"
	for values, want := range map[string]struct {
		serves    bool
		converted []string
	}{
		"{}":                          {false, nil},
		"conversion: {enabled: true}": {true, nil},
		"conversion: {enabled: true, kinds: [], " + certificate:       {true, nil},
		"conversion: {enabled: true, kinds: [MPIJob], " + certificate: {true, []string{"mpijobs.kubeflow.org"}},
	} {
		all := objects(t, documents(both(t, helms, parse(t, values))))
		_, serves := all["kubeflow/Service/training-operator-conversion"]
		if flags := has(all["kubeflow/Deployment/training-operator"], "--conversion-bind-address=:9443"); serves != want.serves || flags != want.serves {
			t.Errorf("%s: Service %t, flags %t", values, serves, flags)
		}
		var converted []string
		for _, object := range all {
			if object["kind"] == "CustomResourceDefinition" && clientConfig(object) != nil {
				converted = append(converted, object["metadata"].(map[string]any)["name"].(string))
			}
		}
		if diff := cmp.Diff(want.converted, converted); diff != "" {
			t.Errorf("%s: CRDs (-want +got):\n%s", values, diff)
		}
	}
}

// TestConversionByCertManager: the Secret, the name in the certificate and the CRD's annotation match the Service. A release with two
// certificates has one Issuer, and the webhook may have an issuer of its own.
func TestConversionByCertManager(t *testing.T) {
	all := objects(t, documents(both(t, load(t, nil), parse(t, `
kinds: [TFJob]
name: other
metrics: {secure: true, certificate: {certManager: {enabled: true}}}
conversion: {enabled: true, kinds: [TFJob], certificate: {certManager: {enabled: true}}}
`))))
	certificate := all["kubeflow/Certificate/other-conversion"]["spec"].(map[string]any)
	if certificate["secretName"] != "other-conversion" || !slices.Contains(certificate["dnsNames"].([]any), any("other-conversion.kubeflow.svc")) {
		t.Errorf("certificate: %v", certificate)
	}
	if diff := cmp.Diff(map[string]any{"organizations": []any{"other"}}, certificate["subject"]); diff != "" {
		t.Errorf("without a subject there is none for the issuer either (-want +got):\n%s", diff)
	}
	crd := all["CustomResourceDefinition/tfjobs.kubeflow.org"]
	annotations := crd["metadata"].(map[string]any)["annotations"].(map[string]any)
	if annotations["cert-manager.io/inject-ca-from"] != "kubeflow/other-conversion" || annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("annotations: %v", annotations)
	}
	if config := clientConfig(crd); config["caBundle"] != nil || config["service"].(map[string]any)["name"] != "other-conversion" {
		t.Errorf("clientConfig: %v", config)
	}
	issuers := 0
	for _, object := range all {
		if object["kind"] == "Issuer" {
			issuers++
		}
	}
	if issuers != 1 || all["kubeflow/Certificate/other-metrics"] == nil {
		t.Errorf("%d issuers", issuers)
	}
}

// TestConversionFrom: who may call the webhook is told apart from where the operator reaches the API server. Without a word on that,
// the addresses are the same; without any, everybody may.
func TestConversionFrom(t *testing.T) {
	helms := load(t, nil)
	block := func(cidr string) []any { return []any{map[string]any{"ipBlock": map[string]any{"cidr": cidr}}} }
	agents := []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "kube-system"}},
		"podSelector": map[string]any{"matchLabels": map[string]any{"k8s-app": "konnectivity-agent"}}}}
	const selectors = "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, podSelector: {matchLabels: {k8s-app: konnectivity-agent}}}"
	for values, want := range map[string]struct{ from, to any }{
		"":                                 {nil, nil},
		", apiServerCIDRs: [10.96.0.1/32]": {block("10.96.0.1/32"), block("10.96.0.1/32")},
		", conversionFrom: [{ipBlock: {cidr: 10.0.0.0/24}}]":                               {block("10.0.0.0/24"), nil},
		", apiServerCIDRs: [10.96.0.1/32], conversionFrom: [" + selectors + "]":            {agents, block("10.96.0.1/32")},
		", apiServerCIDRs: [10.96.0.1/32], conversionFrom: [{ipBlock: {cidr: 0.0.0.0/0}}]": {block("0.0.0.0/0"), block("10.96.0.1/32")},
	} {
		all := objects(t, documents(both(t, helms, parse(t, "crds: {enabled: false}\nconversion: {enabled: true}\nnetworkPolicy: {enabled: true, metricsFrom: []"+values+"}"))))
		spec := all["kubeflow/NetworkPolicy/training-operator"]["spec"].(map[string]any)
		in, out := spec["ingress"].([]any), spec["egress"].([]any)
		if len(in) != 1 {
			t.Fatalf("%q: ingress %v", values, in)
		}
		if diff := cmp.Diff([]any{want.from, want.to}, []any{in[0].(map[string]any)["from"], out[0].(map[string]any)["to"]}); diff != "" {
			t.Errorf("%q: from and to (-want +got):\n%s", values, diff)
		}
	}
}

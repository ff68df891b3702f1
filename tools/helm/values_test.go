package helm

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// value is a value that the chart's page documents.
type value struct {
	path     string
	fallback any // the default in values.yaml
}

// page lists the values that README.md documents, and the groups that they are in. A test of deploy/chartfiles checks that it is
// generated from values.yaml, and that no value is missing.
func page(t *testing.T) (values []value, groups []string) {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\*\\*)?`([^`]+)`(?:\\*\\*)? \\| (?:`([^`]*)`)? ?\\|").FindAllStringSubmatch(string(text), -1) {
		if row[1] != "" {
			groups = append(groups, row[2])
			continue
		}
		v := value{path: row[2]}
		if err := json.Unmarshal([]byte(row[3]), &v.fallback); err != nil {
			t.Fatalf("read the default of %s: %v", v.path, err)
		}
		values = append(values, v)
	}
	if len(values) < 50 || len(groups) < 10 {
		t.Fatalf("found %d values in %d groups", len(values), len(groups))
	}
	return values, groups
}

// set returns values in which one path has a value.
func set(path string, to any) map[string]any {
	keys := strings.Split(path, ".")
	for _, key := range slices.Backward(keys) {
		to = map[string]any{key: to}
	}
	return to.(map[string]any)
}

// authority is a caBundle: as far as the schema checks, the beginning of a certificate.
const authority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

// used returns for each value one that is not its default, as YAML of all values. The part before "; " is the background: values without
// which the value has no effect.
func used() map[string]string {
	monitor := "serviceMonitor: {render: alwaysRender}; "
	return map[string]string{
		"name": "name: other", "image.repository": "image: {repository: example.org/stoic}", "image.tag": "image: {tag: v1}",
		"image.digest":     "image: {digest: 'sha256:" + strings.Repeat("0", 64) + "'}",
		"image.pullPolicy": "image: {pullPolicy: Always}", "image.pullSecrets": "image: {pullSecrets: [registry]}",
		"replicas": "replicas: 2", "leaderElection.enabled": "leaderElection: {enabled: false}", "kinds": "kinds: [TFJob]",
		"mpiJob.version": "mpiJob: {version: v2beta1}", "watchNamespace": "watchNamespace: team-a",
		"gangSchedulerName": "gangSchedulerName: volcano", "nativeGangScheduling": "nativeGangScheduling: true", "logLevel": "logLevel: debug", "extraArgs": "extraArgs: [--profiling]",
		"extraEnv": "extraEnv: [{name: A, value: b}]", "extraVolumes": "extraVolumes: [{name: v, emptyDir: {}}]",
		"extraVolumeMounts": `extraVolumeMounts: [{name: v, mountPath: /v, mountPropagation: None, readOnly: true, recursiveReadOnly: Disabled, subPath: a},
  {name: v, mountPath: /w, subPathExpr: b}]`, "resources": "resources: {requests: {cpu: '1'}, limits: {memory: 2Gi}, claims: [{name: a, request: b}]}",
		"crds.enabled": "crds: {enabled: false}", "crds.keep": "crds: {keep: false}",
		"serviceAccount.create": "serviceAccount: {name: a}; serviceAccount: {create: false, name: a}", "serviceAccount.name": "serviceAccount: {name: a}",
		"serviceAccount.annotations": "serviceAccount: {annotations: {a: b}}", "userRoles.create": "userRoles: {create: false}",
		"commonLabels": "commonLabels: {a: b}", "podLabels": "podLabels: {a: b}", "podAnnotations": "podAnnotations: {a: b}",
		"nodeSelector": "nodeSelector: {a: b}", "tolerations": "tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 1}]",
		"affinity": "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}",
		"topologySpreadConstraints": `topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [a],
  labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}]`,
		"priorityClassName": "priorityClassName: high", "podSecurityContext": `podSecurityContext: {runAsUser: 1, seLinuxChangePolicy: Recursive, supplementalGroupsPolicy: Merge,
  seccompProfile: {type: Localhost, localhostProfile: a}}`, "securityContext": `securityContext: {runAsUser: 1, procMount: Default, capabilities: {add: [A], drop: [B]},
  seccompProfile: {type: Localhost, localhostProfile: a}}`,
		"podDisruptionBudget.enabled": "podDisruptionBudget: {enabled: true}", "podDisruptionBudget.maxUnavailable": "podDisruptionBudget: {enabled: true}; podDisruptionBudget: {enabled: true, maxUnavailable: 50%}",
		"networkPolicy.enabled": "networkPolicy: {enabled: true}", "networkPolicy.metricsFrom": `networkPolicy: {enabled: true}; networkPolicy: {enabled: true, metricsFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/24]}},
  {podSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]},
   namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}]}`,
		"networkPolicy.apiServerCIDRs": "networkPolicy: {enabled: true}; networkPolicy: {enabled: true, apiServerCIDRs: [10.0.0.1/32]}",
		"networkPolicy.conversionFrom": "networkPolicy: {enabled: true}\nconversion: {enabled: true}; networkPolicy: {enabled: true, conversionFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/24]}}, " +
			"{podSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}, namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}]}\nconversion: {enabled: true}",
		"networkPolicy.apiServerPorts": "networkPolicy: {enabled: true}; networkPolicy: {enabled: true, apiServerPorts: [1]}",
		"metrics.secure":               "metrics: {secure: true}", "metrics.readers": "metrics: {secure: true}; metrics: {secure: true, readers: [{namespace: a, name: b}]}",
		"metrics.certificate.secretName":               "metrics: {secure: true}; metrics: {secure: true, certificate: {secretName: a}}",
		"metrics.certificate.certManager.enabled":      "metrics: {secure: true}; metrics: {secure: true, certificate: {certManager: {enabled: true}}}",
		"metrics.certificate.certManager.issuerRef":    "metrics: {secure: true, certificate: {certManager: {enabled: true}}}; metrics: {secure: true, certificate: {certManager: {enabled: true, issuerRef: {name: a, kind: B, group: c}}}}",
		"conversion.enabled":                           "conversion: {enabled: true}",
		"conversion.kinds":                             "conversion: {enabled: true}; conversion: {enabled: true, kinds: [TFJob], certificate: {caBundle: " + authority + "}}",
		"conversion.certificate.caBundle":              "conversion: {enabled: true}; conversion: {enabled: true, kinds: [MPIJob], certificate: {caBundle: " + authority + "}}",
		"conversion.certificate.secretName":            "conversion: {enabled: true}; conversion: {enabled: true, certificate: {secretName: a}}",
		"conversion.certificate.certManager.enabled":   "conversion: {enabled: true}; conversion: {enabled: true, certificate: {certManager: {enabled: true}}}",
		"conversion.certificate.certManager.issuerRef": "conversion: {enabled: true, certificate: {certManager: {enabled: true}}}; conversion: {enabled: true, certificate: {certManager: {enabled: true, issuerRef: {name: a, kind: B, group: c}}}}",
		"serviceMonitor.render":                        "serviceMonitor: {render: alwaysRender}",
		"serviceMonitor.labels":                        monitor + "serviceMonitor: {render: alwaysRender, labels: {a: b}}", "serviceMonitor.interval": monitor + "serviceMonitor: {render: alwaysRender, interval: 30s}",
		"podMonitor.render": "podMonitor: {render: alwaysRender}", "podMonitor.labels": "podMonitor: {render: alwaysRender}; podMonitor: {render: alwaysRender, labels: {a: b}}",
		"podMonitor.interval":   "podMonitor: {render: alwaysRender}; podMonitor: {render: alwaysRender, interval: 30s}",
		"prometheusRule.render": "prometheusRule: {render: alwaysRender}", "prometheusRule.runbooks": "prometheusRule: {render: alwaysRender}; prometheusRule: {render: alwaysRender, runbooks: 'https://a/'}", "prometheusRule.labels": "prometheusRule: {render: alwaysRender}; prometheusRule: {render: alwaysRender, labels: {a: b}}",
		"dashboards.enabled": "dashboards: {enabled: true}", "dashboards.labels": "dashboards: {enabled: true}; dashboards: {enabled: true, labels: {a: b}}",
		"dashboards.annotations": "dashboards: {enabled: true}; dashboards: {enabled: true, annotations: {a: b}}",
	}
}

// TestEveryValueIsUsed: each documented value changes what is rendered.
func TestEveryValueIsUsed(t *testing.T) {
	helms, cases := load(t, other()), used()
	values, _ := page(t)
	var paths []string
	for _, v := range values {
		paths = append(paths, v.path)
	}
	slices.Sort(paths)
	if diff := cmp.Diff(paths, slices.Sorted(maps.Keys(cases))); diff != "" {
		t.Fatalf("values (-documented +tried):\n%s", diff)
	}
	for path, written := range cases {
		background, changed, has := strings.Cut(written, "; ")
		if !has {
			background, changed = "", written
		}
		four := helms["Helm 4"]
		before, err := four.render(parse(t, background))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		after, err := four.render(parse(t, changed))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if cmp.Equal(before, after) {
			t.Errorf("%s has no effect: %s", path, changed)
		}
	}
}

// TestDefaultsAreTheDocumentedOnes: setting a value to its documented default changes nothing.
func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	helms := load(t, other())
	want := both(t, helms, nil)
	all := map[string]any{}
	values, _ := page(t)
	for _, v := range values {
		merge(all, set(v.path, v.fallback))
	}
	if diff := cmp.Diff(text(want), text(both(t, helms, all))); diff != "" {
		t.Errorf("-without values +with all defaults:\n%s", diff)
	}
}

func merge(into, from map[string]any) {
	for key, value := range from {
		below, isMap := value.(map[string]any)
		there, was := into[key].(map[string]any)
		if isMap && was {
			merge(there, below)
			continue
		}
		into[key] = value
	}
}

// TestWrongTypes: both versions reject a value of a wrong type, and an unknown key, and name it.
func TestWrongTypes(t *testing.T) {
	values, groups := page(t)
	cases := map[string]map[string]any{}
	for _, v := range values {
		var wrong any = "wrong"
		if _, is := v.fallback.(string); is {
			wrong = 1
		}
		if v.path == "podDisruptionBudget.maxUnavailable" {
			wrong = true
		}
		cases["/"+strings.ReplaceAll(v.path, ".", "/")] = set(v.path, wrong)
	}
	for _, group := range groups {
		cases["/"+strings.ReplaceAll(group, ".", "/")] = set(group+".wrongKey", 1)
	}
	for name, h := range load(t, nil) {
		for path, wrong := range cases {
			_, err := h.render(wrong)
			if err == nil || !strings.Contains(err.Error(), "'"+path+"'") {
				t.Errorf("%s: %v: got error %v, want one that names %s", name, wrong, err, path)
			}
		}
		if _, err := h.render(map[string]any{"wrongKey": 1}); err == nil || !strings.Contains(err.Error(), "wrongKey") {
			t.Errorf("%s: a key that does not exist: %v", name, err)
		}
	}
}

// TestWrongValues: a value of the right type that is invalid is rejected; the error names it and what is allowed.
func TestWrongValues(t *testing.T) {
	cases := map[string]string{
		"name: Upper": "/name", "image: {pullPolicy: Sometimes}": "/image/pullPolicy", "image: {digest: 'md5:1'}": "/image/digest",
		"image: {tag: 'a b'}": "/image/tag", "image: {repository: ''}": "/image/repository", "replicas: -1": "/replicas",
		"kinds: [TFJobs]": "/kinds/0", "kinds: [TFJob, TFJob]": "/kinds", "mpiJob: {version: v3}": "/mpiJob/version",
		"watchNamespace: a.b": "/watchNamespace", "logLevel: loud": "/logLevel", "extraArgs: [profiling]": "/extraArgs/0",
		"extraEnv: [{value: a}]": "/extraEnv/0", "extraVolumes: [{name: a, hostpath: {}}]": "/extraVolumes/0",
		"extraVolumeMounts: [{name: a}]": "/extraVolumeMounts/0", "resources: {limit: {}}": "/resources",
		"commonLabels: {a: 1}": "/commonLabels/a", "podAnnotations: {a: true}": "/podAnnotations/a",
		"tolerations: [{effect: No}]": "/tolerations/0/effect", "affinity: {podAffinities: {}}": "/affinity",
		"topologySpreadConstraints: [{maxSkew: 1}]": "/topologySpreadConstraints/0",
		"securityContext: {runAsNonroot: true}":     "/securityContext", "podSecurityContext: {seccompProfile: {type: Default}}": "/podSecurityContext/seccompProfile/type",
		"podDisruptionBudget: {maxUnavailable: 120%}": "/podDisruptionBudget/maxUnavailable",
		"networkPolicy: {metricsFrom: [{}]}":          "/networkPolicy/metricsFrom/0", "networkPolicy: {apiServerCIDRs: [10.0.0.1]}": "/networkPolicy/apiServerCIDRs/0",
		"networkPolicy: {conversionFrom: [{}]}": "/networkPolicy/conversionFrom/0", "networkPolicy: {conversionFrom: [10.0.0.0/8]}": "/networkPolicy/conversionFrom/0",
		"networkPolicy: {apiServerPorts: [0]}": "/networkPolicy/apiServerPorts/0", "networkPolicy: {apiServerPorts: []}": "/networkPolicy/apiServerPorts",
		"metrics: {readers: [{name: a}]}": "/metrics/readers/0", "metrics: {certificate: {certManager: {issuerRef: {Name: a}}}}": "/metrics/certificate/certManager/issuerRef",
		"image: {repository: 'a/UPPER'}": "/image/repository", "image: {repository: 'a:v1'}": "/image/repository", "image: {pullSecrets: [A]}": "/image/pullSecrets/0",
		"name: '1a'": "/name", "replicas: 1e9": "/replicas", "gangSchedulerName: a b": "/gangSchedulerName", "priorityClassName: A": "/priorityClassName",
		"serviceAccount: {name: A}": "/serviceAccount/name", "serviceAccount: {annotations: {'a b': c}}": "/serviceAccount/annotations",
		"commonLabels: {control-plane: a}": "/commonLabels/control-plane", "commonLabels: {app.kubernetes.io/name: a}": "/commonLabels/app.kubernetes.io~1name", "commonLabels: {a: b c}": "/commonLabels/a",
		"podLabels: {control-plane: a}": "/podLabels/control-plane", "podLabels: {'a b': c}": "/podLabels", "dashboards: {labels: {helm.sh/chart: a}}": "/dashboards/labels/helm.sh~1chart",
		"serviceMonitor: {labels: {control-plane: a}}": "/serviceMonitor/labels", "nodeSelector: {a: b c}": "/nodeSelector/a",
		"extraArgs: [--namespace=a]": "/extraArgs/0", "extraArgs: [--leader-elect]": "/extraArgs/0", "extraArgs: [-native-gang-scheduling]": "/extraArgs/0",
		"extraEnv: [{name: MY_POD_NAME}]": "/extraEnv/0/name", "extraVolumes: [{name: config}]": "/extraVolumes/0/name",
		"extraVolumes: [{name: metrics-certificate}]": "/extraVolumes/0/name", "extraVolumeMounts: [{name: a, mountPath: /etc/training-operator/}]": "/extraVolumeMounts/0/mountPath",
		"resources: {limits: {memory: 64Gb}}": "/resources/limits/memory", "tolerations: [{key: a b}]": "/tolerations/0/key",
		"networkPolicy: {apiServerCIDRs: [10.0.0.256/8]}": "/networkPolicy/apiServerCIDRs/0", "networkPolicy: {apiServerCIDRs: [10.0.0.0/33]}": "/networkPolicy/apiServerCIDRs/0",
		"networkPolicy: {apiServerCIDRs: ['::/129']}": "/networkPolicy/apiServerCIDRs/0", "networkPolicy: {metricsFrom: [{ipBlock: {cidr: a}}]}": "/networkPolicy/metricsFrom/0/ipBlock/cidr",
		"metrics: {readers: [{name: a, namespace: a.b}]}": "/metrics/readers/0/namespace", "metrics: {certificate: {secretName: A}}": "/metrics/certificate/secretName",
		"serviceMonitor: {interval: 1d1s1h}": "/serviceMonitor/interval", "prometheusRule: {runbooks: 'https://a/\"b/'}": "/prometheusRule/runbooks",
		"serviceMonitor: {render: always}": "/serviceMonitor/render", "serviceMonitor: {render: off}": "/serviceMonitor/render", "podMonitor: {interval: 30}": "/podMonitor/interval",
		"prometheusRule: {runbooks: 'https://a/b'}": "/prometheusRule/runbooks", "prometheusRule: {runbooks: a/}": "/prometheusRule/runbooks",
		"conversion: {kinds: [PyTorchJob]}": "/conversion/kinds/0", "conversion: {certificate: {caBundle: Y29udGVudA==}}": "/conversion/certificate/caBundle",
		"conversion: {certificate: {secretName: A}}": "/conversion/certificate/secretName", "extraArgs: [--conversion-cert-path=/c]": "/extraArgs/0",
		"extraVolumes: [{name: conversion}]": "/extraVolumes/0/name", "extraVolumeMounts: [{name: a, mountPath: /etc/training-operator-conversion}]": "/extraVolumeMounts/0/mountPath",
		// Templates check what a schema cannot.
		"{replicas: 2, leaderElection: {enabled: false}}":                                                                        "replicas: more than one need leaderElection.enabled",
		"{gangSchedulerName: volcano, nativeGangScheduling: true}":                                                               "nativeGangScheduling: found beside gangSchedulerName",
		"serviceAccount: {create: false}":                                                                                        "serviceAccount.name: must be set",
		"metrics: {readers: [{name: a, namespace: b}]}":                                                                          "metrics.readers: metrics are served to everybody",
		"metrics: {certificate: {secretName: a}}":                                                                                "metrics.certificate: metrics are served without TLS",
		"metrics: {certificate: {certManager: {enabled: true}}}":                                                                 "metrics.certificate: metrics are served without TLS",
		"{metrics: {secure: true}, podMonitor: {render: alwaysRender}}":                                                          "podMonitor: a PodMonitor cannot give",
		"conversion: {kinds: [TFJob]}":                                                                                           "set conversion.enabled",
		"conversion: {enabled: true, kinds: [TFJob]}":                                                                            "conversion.certificate.caBundle: must be set",
		"conversion: {enabled: true, certificate: {caBundle: " + authority + ", certManager: {enabled: true}}}":                  "conversion.certificate.caBundle: found with certManager.enabled",
		"{kinds: [TFJob], conversion: {enabled: true, kinds: [MPIJob], certificate: {caBundle: " + authority + "}}}":             "conversion.kinds: found MPIJob, must be one of kinds",
		"{mpiJob: {version: v2beta1}, conversion: {enabled: true, kinds: [MPIJob], certificate: {caBundle: " + authority + "}}}": "conversion.kinds: found MPIJob, which is stored as v1",
		"{crds: {enabled: false}, conversion: {enabled: true, kinds: [TFJob], certificate: {caBundle: " + authority + "}}}":      "conversion.kinds: the chart does not install their CRDs",
		"serviceMonitor: {render: failIfMissing}":                                                                                "serviceMonitor.render is failIfMissing, and the cluster does not serve ServiceMonitor",
		"podMonitor: {render: failIfMissing}":                                                                                    "podMonitor.render is failIfMissing",
		"prometheusRule: {render: failIfMissing}":                                                                                "prometheusRule.render is failIfMissing",
	}
	for name, h := range load(t, other()) {
		for wrong, names := range cases {
			if _, err := h.render(parse(t, wrong)); err == nil || !strings.Contains(err.Error(), names) {
				t.Errorf("%s: %s: got error %v, want one that names %s", name, wrong, err, names)
			}
		}
		if _, err := h.render(parse(t, "global: {anything: 1}")); err != nil {
			t.Errorf("%s: what Helm gives to a chart that is a part of another: %v", name, err)
		}
	}
}

// TestRightValues: values that look unusual but are valid are accepted.
func TestRightValues(t *testing.T) {
	for name, h := range load(t, other()) {
		for _, right := range []string{
			"image: {repository: 'registry.example.org:5000/team_a/stoic'}", "image: {repository: '[fd00::1]:5000/a'}", "image: {repository: 'localhost/a--b/c'}",
			"watchNamespace: '123'", "name: 'true'", "commonLabels: {example.org/team: ''}", "resources: {limits: {cpu: 0.5, memory: 1e9}}",
			"networkPolicy: {apiServerCIDRs: ['fd00::1/128', '::/0', '0.0.0.0/0', '::ffff:10.0.0.1/128']}", "serviceMonitor: {interval: 1m30s}",
			"prometheusRule: {runbooks: 'https://git.example.com/a/-/blob/main/docs/#/'}", "extraArgs: [--profiling, --namespaces, -v=1]",
		} {
			if _, err := h.render(parse(t, right)); err != nil {
				t.Errorf("%s: %s: %v", name, right, err)
			}
		}
	}
}

// TestNull: null removes a default, and templates would find no value. So null is rejected for every value and every group.
func TestNull(t *testing.T) {
	values, groups := page(t)
	paths := groups
	for _, v := range values {
		paths = append(paths, v.path)
	}
	for name, h := range load(t, nil) {
		for _, path := range paths {
			key := path[strings.LastIndexByte(path, '.')+1:]
			if _, err := h.render(set(path, nil)); err == nil || !strings.Contains(err.Error(), "missing propert") || !strings.Contains(err.Error(), "'"+key+"'") {
				t.Errorf("%s: %s: null: got error %v, want one that names it", name, path, err)
			}
		}
	}
}

// TestSchemaIsComplete: the schema has exactly the documented values, and accepts no unknown key anywhere.
func TestSchemaIsComplete(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	closed(t, "", schema)
	values, groups := page(t)
	var found []string
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		for key, below := range schema["properties"].(map[string]any) {
			name := strings.TrimPrefix(fmt.Sprintf("%s.%s", path, key), ".")
			if slices.Contains(groups, name) {
				walk(name, below.(map[string]any))
			} else if name != "global" {
				found = append(found, name)
			}
		}
	}
	walk("", schema)
	var want []string
	for _, v := range values {
		want = append(want, v.path)
	}
	slices.Sort(want)
	slices.Sort(found)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("values (-documented +in the schema):\n%s", diff)
	}
}

// closed checks that each part of a schema that lists properties accepts no others.
func closed(t *testing.T, path string, schema any) {
	t.Helper()
	switch schema := schema.(type) {
	case map[string]any:
		if _, names := schema["properties"].(map[string]any); names && schema["additionalProperties"] != false {
			t.Errorf("%s of the schema lets unknown keys in", path)
		}
		for key, below := range schema {
			closed(t, path+"/"+key, below)
		}
	case []any:
		for i, below := range schema {
			closed(t, fmt.Sprintf("%s/%d", path, i), below)
		}
	}
}

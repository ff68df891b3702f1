package integration

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// example is an operator of examples/operators, and what the smoke test must know about it.
type example struct {
	folder    string
	home      string // the namespace of its Deployment and its lease
	account   string // its service account; its Deployment has the same name
	prefix    string // of its metrics
	crds      []string
	resource  runtimeschema.GroupVersionResource
	kind      string
	spec      string // of a well-formed object; NAME is replaced by the name of the object
	status    string // is written once after the creation; "" for none
	ready     string // the condition that says that all is well: "Ready True Exists"
	malformed []malformed
	// dependents of an object are told by what show returns for each of them.
	dependents runtimeschema.GroupVersionResource
	show       func(*unstructured.Unstructured) string
	below      []runtimeschema.GroupVersionResource // what the dependents own
	created    []string                             // for an object with the name web
	// change is a merge patch after which the operator makes more than one write; stop says which of them is refused: the operator
	// is killed then. In the end there are the dependents that changed says.
	change  string
	stop    string // "delete" or "patch" of a dependent
	changed []string
	// unused are rights that these tests do not need, with what needs them.
	unused map[right]string
	// label is what the operator finds its dependents by, and puts back; "" if it releases what loses its labels.
	label string
}

func (e example) user() string { return "system:serviceaccount:" + e.home + ":" + e.account }

func (e example) deploy() string { return root + "/examples/operators/" + e.folder + "/deploy" }

// manifest returns the manifest of an object.
func (e example) manifest(name, spec string) string {
	if spec != "" {
		spec = "\nspec: " + spec
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}%s\n", e.resource.GroupVersion(), e.kind, name, spec)
}

// sound returns the manifest of a well-formed object.
func (e example) sound(name string) string {
	return e.manifest(name, strings.ReplaceAll(e.spec, "NAME", name))
}

func fooBarExample() example {
	return example{
		folder: "foobar", label: "test.example.com/operator", home: "test-operators", account: "foobar-operator", prefix: "foobar_operator",
		crds:       []string{"foobars-open.yaml", "clusterfoobars-open.yaml"},
		resource:   runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobars"},
		kind:       "FooBar",
		spec:       "{target: NAME-a}",
		ready:      "Ready True Exists",
		dependents: runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		show:       (*unstructured.Unstructured).GetName,
		created:    []string{"web-a"},
		change:     `{"spec":{"target":"web-b"}}`,
		stop:       "delete",
		changed:    []string{"web-b"},
		malformed: []malformed{
			{name: "target-absent", path: "spec.target", spec: `{type: Copy}`},
			{name: "target-integer", path: "spec.target", spec: `{target: 7}`},
			{name: "target-name", path: "spec.target", spec: `{target: No_Name}`},
			{name: "target-huge", path: "spec.target", spec: `{target: ` + strings.Repeat("a", 200_000) + `}`},
			{name: "type-unknown", path: "spec.type", spec: `{target: a, type: Other}`},
			{name: "namespace-list", path: "spec.targetNamespace", spec: `{target: a, targetNamespace: [a]}`},
			{name: "spec-string", path: "spec", spec: `nonsense`},
			{name: "no-spec", path: "spec.target"},
		},
		unused: map[right]string{
			{"get", "test.example.com", "clusterfoobars"}: "a ClusterFooBar whose dependents a process that was killed may have created, as for a FooBar",
		},
	}
}

func fooExample() example {
	return example{
		folder: "foo", label: "samplecontroller.k8s.io/operator", home: "test-operators", account: "foo-operator", prefix: "foo_operator",
		crds:       []string{"foos-open.yaml"},
		resource:   runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"},
		kind:       "Foo",
		spec:       "{deploymentName: NAME-a, replicas: 1}",
		ready:      "Ready True Available",
		dependents: runtimeschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		show:       (*unstructured.Unstructured).GetName,
		created:    []string{"web-a"},
		change:     `{"spec":{"deploymentName":"web-b"}}`,
		stop:       "delete",
		changed:    []string{"web-b"},
		malformed: []malformed{
			{name: "replicas-string", path: "spec.replicas", spec: `{deploymentName: a, replicas: "3"}`},
			{name: "replicas-negative", path: "spec.replicas", spec: `{deploymentName: a, replicas: -1}`},
			{name: "replicas-huge", path: "spec.replicas", spec: `{deploymentName: a, replicas: 2147483648}`},
			{name: "name-absent", path: "spec.deploymentName", spec: `{replicas: 1}`},
			{name: "name-upper", path: "spec.deploymentName", spec: `{deploymentName: Web_1}`},
			{name: "name-long", path: "spec.deploymentName", spec: `{deploymentName: ` + strings.Repeat("a", 64) + `}`},
			{name: "spec-list", path: "spec", spec: `[1]`},
			{name: "no-spec", path: "spec.deploymentName"},
		},
	}
}

// fooBarSetExample has objects of two levels: the Jobs of its tasks are not its dependents, and run all the same.
func fooBarSetExample() example {
	return example{
		folder: "foobarset", label: "test.example.com/operator", home: "test-operators", account: "foobarset-operator", prefix: "foobarset_operator",
		crds:       []string{"foobarsets-open.yaml", "foobartasks-open.yaml"},
		resource:   runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobarsets"},
		kind:       "FooBarSet",
		spec:       `{count: 2, template: {image: "a:1"}}`,
		ready:      "Ready True Running",
		dependents: runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobartasks"},
		below:      []runtimeschema.GroupVersionResource{{Group: "batch", Version: "v1", Resource: "jobs"}},
		show:       func(u *unstructured.Unstructured) string { return textAt(u, "spec", "image") },
		created:    []string{"a:1", "a:1"},
		change:     `{"spec":{"template":{"image":"a:2"}}}`,
		stop:       "delete",
		changed:    []string{"a:2", "a:2"},
		malformed: []malformed{
			{name: "count-string", path: "spec.count", spec: `{count: "2", template: {image: a}}`},
			{name: "count-huge", path: "spec.count", spec: `{count: 2147483647, template: {image: a}}`},
			{name: "no-template", path: "spec.template", spec: `{count: 2}`},
			{name: "image-integer", path: "spec.template.image", spec: `{template: {image: 7}}`},
			{name: "command-integer", path: "spec.template.command[1]", spec: `{template: {image: a, command: [run, 7]}}`},
			{name: "limit-string", path: "spec.template.backoffLimit", spec: `{template: {image: a, backoffLimit: "3"}}`},
			{name: "spec-string", path: "spec", spec: `nonsense`},
			{name: "no-spec", path: "spec.template"},
		},
	}
}

// cronTabExample has CronTabs that were due some hours ago and had their last run long before.
func cronTabExample() example {
	began := time.Now()
	schedule := func(hours int) string { return began.Add(-time.Duration(hours) * time.Hour).UTC().Format("4 15 2 1 *") }
	last := began.Add(-100 * time.Hour).UTC().Format(time.RFC3339)
	const image = `, image: "busybox:1"}`
	return example{
		folder: "crontab", label: "stable.example.com/crontab", home: "crontab-operators", account: "crontab-operator", prefix: "crontab_operator",
		crds:       []string{"crontabs-open.yaml"},
		resource:   runtimeschema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"},
		kind:       "CronTab",
		spec:       `{concurrencyPolicy: Replace, cronSpec: "` + schedule(3) + `"` + image,
		status:     `{"status":{"lastScheduleTime":"` + last + `"}}`,
		ready:      "Ready True Scheduled",
		dependents: runtimeschema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
		show: func(u *unstructured.Unstructured) string {
			parallelism, _, _ := unstructured.NestedInt64(u.Object, "spec", "parallelism")
			return fmt.Sprint("run of ", parallelism)
		},
		created: []string{"run of 1"},
		change:  `{"spec":{"cronSpec":"` + schedule(2) + `"}}`,
		stop:    "patch", // a Job has no pods until the status names it
		changed: []string{"run of 1"},
		malformed: []malformed{
			{name: "image-absent", path: "spec.image", spec: `{cronSpec: "@daily"}`},
			{name: "schedule-never", path: "spec.cronSpec", spec: `{cronSpec: "0 0 30 2 *"` + image},
			{name: "schedule-six", path: "spec.cronSpec", spec: `{cronSpec: "0 * * * * *"` + image},
			{name: "schedule-huge", path: "spec.cronSpec", spec: `{cronSpec: ` + strings.Repeat("9", 200_000) + image},
			{name: "zone-unknown", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: Europe/Berln` + image},
			{name: "zone-path", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: ../../../etc/passwd` + image},
			{name: "replicas-string", path: "spec.replicas", spec: `{cronSpec: "@daily", replicas: "3"` + image},
			{name: strings.Repeat("n", 53), path: "metadata.name", spec: `{cronSpec: "@daily"` + image},
			{name: "spec-list", path: "spec", spec: `[1]`},
			{name: "no-spec", path: "spec.cronSpec"},
		},
		unused: map[right]string{{"get", "batch", "jobs"}: "a run whose name another Job has"},
	}
}

func myDeploymentExample() example {
	const selector, template = `selector: {matchLabels: {app: x}}`, `template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}`
	container := func(fields string) string {
		return "{" + selector + `, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, ` + fields + `}]}}}`
	}
	return example{
		folder: "mydeployment", home: "mydeployment-system", account: "mydeployment-operator", prefix: "mydeployment_operator",
		crds:     []string{"mydeployments-open.yaml"},
		resource: runtimeschema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "mydeployments"},
		kind:     "MyDeployment",
		spec: `{replicas: 2, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}, annotations: {simulation.stoic/terminate-after: 300ms}}, ` +
			`spec: {containers: [{name: c, image: "v1"}]}}}`,
		ready:      "Progressing True Complete",
		dependents: runtimeschema.GroupVersionResource{Version: "v1", Resource: "pods"},
		show: func(u *unstructured.Unstructured) string {
			containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "containers")
			first, _ := containers[0].(map[string]any)
			return fmt.Sprint(first["image"])
		},
		created: []string{"v1", "v1"},
		change:  `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"v2"}]}}}}`,
		stop:    "delete",
		changed: []string{"v2", "v2"},
		malformed: []malformed{
			{name: "x", path: "spec.replicas", spec: `{replicas: "3", ` + selector + ", " + template + "}"}, // its selector cannot be changed
			{name: "selector-absent", path: "spec.selector", spec: "{" + template + "}"},
			{name: "selector-other", path: "spec.template.metadata.labels", spec: `{selector: {matchLabels: {app: other}}, ` + template + "}"},
			{name: "template-string", path: "spec.template", spec: "{" + selector + `, template: x}`},
			{name: "image-integer", path: "spec.template.spec.containers[0].image", spec: container("image: 7")},
			{name: "quantity", path: "spec.template.spec.containers[0].resources.limits.cpu", spec: container(`image: i, resources: {limits: {cpu: "1e1.5"}}`)},
			{name: "surge-words", path: "spec.strategy.maxSurge", spec: "{" + selector + ", " + template + `, strategy: {maxSurge: many}}`},
			{name: "with.a.dot", path: "metadata.name", spec: "{" + selector + ", " + template + "}"},
			{name: "no-spec", path: "spec.selector"},
		},
	}
}

// textAt returns a field of an object that holds a text.
func textAt(u *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(u.Object, path...)
	return text
}

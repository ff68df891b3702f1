package integration

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

func exampleOperators() []exampleOperator {
	return []exampleOperator{fooBarExample(), fooBarSetExample(), cronTabExample(), myDeploymentExample(), fooExample()}
}

const labelIt = `{"metadata":{"labels":{"a":"b"}}}`

func fooBarExample() exampleOperator {
	return exampleOperator{folder: "foobar", account: "test-operators:foobar-operator", permissions: []string{"namespace.yaml", "rbac.yaml"}, share: 1,
		resource: runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobars"}, kind: "FooBar",
		spec:   func(name string) map[string]any { return map[string]any{"target": name + "-a"} },
		served: func(u *unstructured.Unstructured) bool { return reports(u, "Ready", "True Exists") },
		changes: []change{
			{what: "another target", patch: `{"spec":{"target":"other"}}`, want: map[string]int{"create configmaps": 1, "delete configmaps": 1, "create events": 2, "patch foobars/status": 1},
				more: map[string]int{"patch foobars/status": 1}},
			{what: "another type", patch: `{"spec":{"type":"Link"}}`, want: map[string]int{"patch configmaps": 1, "patch foobars/status": 1}, more: map[string]int{"patch foobars/status": 1}},
			{what: "a label", patch: labelIt},
			{what: "another namespace", patch: `{"spec":{"targetNamespace":"default"}}`, want: map[string]int{"create configmaps": 1, "delete configmaps": 1, "create events": 2, "patch foobars": 1, "patch foobars/status": 1},
				more: map[string]int{"patch foobars/status": 1}},
		},
		created: change{what: "created", want: map[string]int{"create configmaps": 1, "create events": 1, "patch foobars/status": 1}, more: map[string]int{"patch foobars/status": 1}},
		deleted: change{what: "deleted", want: map[string]int{"delete configmaps": 1, "create events": 1, "patch foobars": 1}}}
}

// fooBarSetExample has a task for each set, and serves both. The pods of their Jobs do not run.
func fooBarSetExample() exampleOperator {
	return exampleOperator{folder: "foobarset", account: "test-operators:foobarset-operator", permissions: []string{"base/namespace.yaml", "base/roles.yaml", "together/rbac.yaml"}, share: 0.5,
		resource: runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobarsets"}, kind: "FooBarSet",
		spec: func(string) map[string]any {
			return map[string]any{"count": int64(1), "template": map[string]any{"image": "a:0"}}
		},
		served: func(u *unstructured.Unstructured) bool { return reports(u, "Ready", "True Running") },
		changes: []change{
			{what: "another template", patch: `{"spec":{"template":{"image":"a:1"}}}`, want: map[string]int{"create foobartasks": 1, "create jobs": 1, "delete foobartasks": 1, "create events": 3,
				"patch foobarsets/status": 1, "patch foobartasks/status": 1}, more: map[string]int{"patch foobarsets/status": 3, "patch foobartasks/status": 1}},
			{what: "one more", patch: `{"spec":{"count":2}}`, want: map[string]int{"create foobartasks": 1, "create jobs": 1, "create events": 2, "patch foobarsets/status": 1, "patch foobartasks/status": 1},
				more: map[string]int{"patch foobarsets/status": 2, "patch foobartasks/status": 1}},
			{what: "a label", patch: labelIt},
		},
		created: change{what: "created", want: map[string]int{"create foobartasks": 1, "create jobs": 1, "create events": 2, "patch foobarsets/status": 1, "patch foobartasks/status": 1},
			more: map[string]int{"patch foobarsets/status": 2, "patch foobartasks/status": 1}},
		deleted: change{what: "deleted"}}
}

// cronTabExample has CronTabs that are due once a year.
func cronTabExample() exampleOperator {
	now := time.Now()
	return exampleOperator{folder: "crontab", account: "crontab-operators:crontab-operator", permissions: []string{"namespace.yaml", "rbac.yaml"}, share: 1,
		resource: runtimeschema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}, kind: "CronTab",
		spec: func(string) map[string]any {
			return map[string]any{"cronSpec": at(now.Add(24 * time.Hour)), "image": "busybox:1"}
		},
		served: func(u *unstructured.Unstructured) bool { return reports(u, "Ready", "True Scheduled") },
		changes: []change{
			{what: "another schedule", patch: `{"spec":{"cronSpec":"` + at(now.Add(48*time.Hour)) + `"}}`, want: map[string]int{"patch crontabs/status": 1}},
			{what: "a run", status: `{"status":{"lastScheduleTime":"` + now.Add(-100*time.Hour).UTC().Format(time.RFC3339) + `"}}`,
				patch: `{"spec":{"cronSpec":"` + at(now.Add(-2*time.Hour)) + `"}}`, want: map[string]int{"create jobs": 1, "patch jobs": 1, "create events": 1, "patch crontabs/status": 2},
				more: map[string]int{"patch jobs answered 409": 1}},
			{what: "malformed", patch: `{"spec":{"cronSpec":"99 * * * *"}}`, settled: isRejected, want: map[string]int{"create events": 1, "patch crontabs/status": 1}},
			{what: "a label", patch: labelIt, settled: isRejected},
		},
		created: change{what: "created", want: map[string]int{"patch crontabs/status": 1}},
		deleted: change{what: "deleted"}}
}

// myDeploymentExample has one pod for each, which a simulated node runs.
func myDeploymentExample() exampleOperator {
	return exampleOperator{folder: "mydeployment", account: "mydeployment-system:mydeployment-operator", permissions: []string{"namespace.yaml", "rbac.yaml"}, share: 1, pods: 1,
		resource: runtimeschema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "mydeployments"}, kind: "MyDeployment",
		spec: func(name string) map[string]any {
			labels := map[string]any{"app": name}
			return map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
				"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}}}}
		},
		served: func(u *unstructured.Unstructured) bool { return reports(u, "Progressing", "True Complete") },
		changes: []change{
			{what: "another image", patch: `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`, want: map[string]int{"create pods": 1, "delete pods": 1, "create events": 2, "patch mydeployments/status": 1},
				more: map[string]int{"patch mydeployments/status": 3}},
			{what: "one more", patch: `{"spec":{"replicas":2}}`, want: map[string]int{"create pods": 1, "create events": 1, "patch mydeployments/status": 1}, more: map[string]int{"patch mydeployments/status": 2}},
			{what: "malformed", patch: `{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, settled: isRejected, want: map[string]int{"create events": 1, "patch mydeployments/status": 1}},
			{what: "a label", patch: labelIt, settled: isRejected},
		},
		created: change{what: "created", want: map[string]int{"create pods": 1, "create events": 1, "patch mydeployments/status": 1}, more: map[string]int{"patch mydeployments/status": 2}},
		deleted: change{what: "deleted"}}
}

// fooExample has a Deployment without pods for each: the operator does not watch pods.
func fooExample() exampleOperator {
	return exampleOperator{folder: "foo", account: "test-operators:foo-operator", permissions: []string{"namespace.yaml", "rbac.yaml"}, share: 1,
		resource: runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}, kind: "Foo",
		spec: func(name string) map[string]any {
			return map[string]any{"deploymentName": name + "-a", "replicas": int64(0)}
		},
		served: func(u *unstructured.Unstructured) bool { return reports(u, "Ready", "True Available") },
		changes: []change{
			{what: "another name", patch: `{"spec":{"deploymentName":"other"}}`, want: map[string]int{"create deployments": 1, "delete deployments": 1, "create events": 2, "patch foos/status": 1}, more: map[string]int{"patch foos/status": 1}},
			{what: "a label", patch: labelIt},
		},
		created: change{what: "created", want: map[string]int{"create deployments": 1, "create events": 1, "patch foos/status": 1}, more: map[string]int{"patch foos/status": 1}},
		deleted: change{what: "deleted"}}
}

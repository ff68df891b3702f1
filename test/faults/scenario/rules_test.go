package scenario

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
)

// runOf returns the run of these versions of an object j: each line is "TYPE KIND NAMESPACE/NAME UID" and more in YAML, in which
// "of: x" in curly brackets is the owner. Versions are ten seconds apart, so that no violation is excused because the operator
// could not know yet.
func runOf(t *testing.T, o *Operator, lines ...string) *history.Run {
	t.Helper()
	resources := map[string]schema.GroupVersionResource{
		"MPIJob": o.Resource, "FooBar": o.Resource, "Pod": core("pods"), "Service": core("services"), "Secret": core("secrets"), "ConfigMap": core("configmaps"),
		"ServiceAccount": core("serviceaccounts"), "Role": rbac("roles"), "RoleBinding": rbac("rolebindings"), "Job": batchJobs(),
	}
	var versions []history.Version
	for i, line := range lines {
		words := strings.SplitN(line+" {}", " ", 5)
		text, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(strings.TrimSuffix(words[4], " {}"), "of: u", "metadata: {ownerReferences: [{uid: u, controller: true}]}")))
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if err == nil {
			err = json.Unmarshal(text, &u.Object)
		}
		if err != nil || resources[words[1]].Empty() {
			t.Fatalf("%s: %v", line, err)
		}
		namespace, name, _ := strings.Cut(words[2], "/")
		u.SetKind(words[1])
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetUID(types.UID(words[3]))
		u.SetResourceVersion(string(rune('1' + i)))
		versions = append(versions, history.Version{Type: watch.EventType(words[0]), Resource: resources[words[1]], Object: u, At: time.Unix(int64(10*i), 0)})
	}
	return history.Of(history.Subject{Resource: o.Resource, Namespace: "ns", Name: "j", Also: []string{"there"}}, versions...)
}

// mpi returns the training operator with MPIJobs of v1.
func mpi() *Operator {
	o := training()
	o.Resource = jobsOf("v1", "mpijobs")
	return o
}

// TestRules: each of these histories breaks one rule, or none.
func TestRules(t *testing.T) {
	const (
		job      = "ADDED MPIJob ns/j u {spec: {mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		waits    = "ADDED MPIJob ns/j u {spec: {launcherCreationPolicy: WaitForWorkersReady, mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		rests    = "MODIFIED MPIJob ns/j u {spec: {runPolicy: {suspend: true}, mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 1}}}}"
		account  = "ADDED ServiceAccount ns/j-launcher a {of: u}"
		config   = "ADDED ConfigMap ns/j-config c {of: u}"
		role     = "ADDED Role ns/j-launcher r {of: u}"
		binding  = "ADDED RoleBinding ns/j-launcher b {of: u}"
		pending  = "ADDED Pod ns/j-worker-0 w {of: u, status: {phase: Pending}}"
		running  = "MODIFIED Pod ns/j-worker-0 w {of: u, status: {phase: Running}}"
		lost     = "DELETED Pod ns/j-worker-0 w {of: u, status: {phase: Running}}"
		launcher = "ADDED Pod ns/j-launcher l {of: u, status: {phase: Pending}}"
		service  = "ADDED Service ns/j s {of: u}"
		secret   = "ADDED Secret ns/j-ssh k {of: u}"
		batch    = "ADDED Job ns/j-launcher q {of: u, spec: {suspend: false}}"

		made    = "ADDED FooBar ns/j u {metadata: {finalizers: [test.example.com/cleanup]}}"
		recordA = "MODIFIED FooBar ns/j u {metadata: {finalizers: [test.example.com/cleanup]}, status: {target: j-a, targetNamespace: there}}"
		recordB = "MODIFIED FooBar ns/j u {metadata: {finalizers: [test.example.com/cleanup]}, status: {target: j-b, targetNamespace: there}}"
		mine    = `{metadata: {labels: {test.example.com/operator: foobar}, annotations: {test.example.com/owner: "test.example.com/v1alpha1 FooBar ns/j u"}}, data: {foobar: j}}`
		a       = "ConfigMap there/j-a a " + mine
		b       = "ConfigMap there/j-b b " + mine
		foreign = "ConfigMap ns/j-taken x {data: {whose: mine}}"
	)
	for name, test := range map[string]struct {
		operator *Operator
		lines    []string
		deletes  string // the resource and UID of what the operator deletes
		want     string
	}{
		"v1, as it is to be":             {mpi(), []string{job, account, config, role, binding, pending, running, launcher}, "", ""},
		"v1, without an account":         {mpi(), []string{job, config, pending}, "", "Pod j-worker-0 is made before the ServiceAccount of its job"},
		"v1, without a binding":          {mpi(), []string{job, account, config, role, pending, running, launcher}, "", "Pod j-launcher is made before the RoleBinding of its job"},
		"v1, the launcher first":         {mpi(), []string{job, account, config, role, binding, pending, launcher}, "", "the launcher begins before worker j-worker-0"},
		"v2beta1, as it is to be":        {mpiV2Beta1(), []string{job, service, secret, batch, pending}, "", ""},
		"v2beta1, without a Secret":      {mpiV2Beta1(), []string{job, service, pending}, "", "Pod j-worker-0 is made before the Secret of its job"},
		"v2beta1, the launcher first":    {mpiV2Beta1(), []string{waits, service, secret, pending, batch}, "", "the launcher begins before worker j-worker-0"},
		"v2beta1, a worker is taken":     {mpiV2Beta1(), []string{job, service, secret, batch, pending, rests, lost}, "pods w", "worker j-worker-0 is deleted while the launcher runs"},
		"v2beta1, somebody takes it":     {mpiV2Beta1(), []string{job, service, secret, batch, pending, rests, lost}, "", ""},
		"FooBar, a change":               {fooBars(), []string{made, "ADDED " + a, recordA, "ADDED " + b, recordB, "DELETED " + a}, "configmaps a", ""},
		"FooBar, without a successor":    {fooBars(), []string{made, "ADDED " + a, recordA, "DELETED " + a}, "configmaps a", "ConfigMap there/j-a is deleted while there/j-a is on record"},
		"FooBar, not yet on record":      {fooBars(), []string{made, "ADDED " + a, recordA, "ADDED " + b, "DELETED " + a}, "configmaps a", "ConfigMap there/j-a is deleted while there/j-a is on record"},
		"FooBar, without a finalizer":    {fooBars(), []string{"ADDED FooBar ns/j u", "ADDED " + a}, "", "ConfigMap there/j-a is created for a FooBar without a finalizer"},
		"FooBar, left behind":            {fooBars(), []string{made, "ADDED " + a, recordA, "DELETED FooBar ns/j u", "DELETED " + a}, "configmaps a", "the FooBar goes before its ConfigMap there/j-a"},
		"FooBar, somebody else's":        {fooBars(), []string{made, "ADDED " + foreign}, "", ""},
		"FooBar, somebody else's edited": {fooBars(), []string{made, "ADDED " + foreign, "MODIFIED " + foreign}, "", "MODIFIED of the ConfigMap ns/j-taken, which is somebody else's"},
	} {
		t.Run(name, func(t *testing.T) {
			run := runOf(t, test.operator, test.lines...)
			var journal []proxy.Entry
			if resource, uid, deletes := strings.Cut(test.deletes, " "); deletes {
				journal = []proxy.Entry{{Forwarded: true, Code: 200, Request: proxy.Request{Verb: "delete", Resource: resource, Body: []byte(`{"preconditions":{"uid":"` + uid + `"}}`)}}}
			}
			rules := test.operator.Rules
			var texts []string
			for _, v := range oracle.Judge(rules, run, journal, nil, oracle.Observe(rules, run, journal), oracle.Limits{}) {
				text, _, _ := strings.Cut(v.Text, ", at resourceVersion")
				texts = append(texts, text)
			}
			if got := strings.Join(texts, "; "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestOperators: the names of operators and scenarios are unique, and every operator has what the rig needs.
func TestOperators(t *testing.T) {
	names := map[string]bool{}
	for _, o := range Operators() {
		if names[o.Name] || len(o.Dependents) == 0 || len(o.Statuses) == 0 || o.Rules.Settled == nil || o.Rules.Restores == nil || o.Rules.Status == nil || o.Rules.Owner == nil || o.Rules.Writes == nil {
			t.Errorf("the operator %q lacks something", o.Name)
		}
		names[o.Name] = true
		for _, s := range o.Scenarios {
			if names[s.Name] || s.Operator != o || s.Resource.Empty() || strings.ContainsAny(s.Name, "/,") || o.Name == "foobar" && s.Writes == 0 {
				t.Errorf("the scenario %q of %s", s.Name, o.Name)
			}
			names[s.Name] = true
		}
	}
}

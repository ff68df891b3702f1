package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// foobarSpoiledHalfWay: the target is changed from a to b, the operator is killed between two writes of that change, and the spec
// is malformed when the next one starts. While it is malformed, the ConfigMap in the status stays and the other one is deleted.
// After the repair everything continues.
func foobarSpoiledHalfWay(t *testing.T, f *foobars) {
	f.redefine(t, root+"/test/fixtures/foobars-open.yaml")
	defer f.redefine(t, foobarDeploy+"/crd")
	ns, other := f.namespace(t, "halfway"), f.namespace(t, "halfway-there")
	for _, c := range []struct {
		name, place string
		// write that is rejected until the operator is killed: what it matches, what must hold of it, and an attempt at it.
		match, holds string
		attempt      []string
		kept         string
	}{
		{"b-is-not-on-record", ns, `{apiGroups: [test.example.com], apiVersions: [v1alpha1], operations: [UPDATE], resources: [foobars/status]}`,
			"!has(object.status.target) || object.status.target != 'b'",
			[]string{"-n", ns, "patch", "foobar", "b-is-not-on-record", "--subresource=status", "--type=merge", "-p", `{"status":{"target":"b"}}`}, "a"},
		{"a-is-not-deleted", other, `{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}`, "oldObject.metadata.name != 'a'",
			[]string{"-n", other, "delete", "configmap", "a"}, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := f.restart(t, ns)
			f.apply(t, ns, foobar("FooBar", c.name, "{target: a, targetNamespace: "+c.place+"}"))
			f.awaitReady(t, ns, c.name, c.place+"/a")
			lift := f.deny(t, c.place, c.match, c.holds, c.attempt)
			f.patch(t, ns, c.name, `{"spec":{"target":"b"}}`)
			both := fmt.Sprintf("%s/a=%s %[1]s/b=%[2]s", c.place, c.name)
			await(t, "both ConfigMaps, and "+c.kept+" on record", func() (bool, string) {
				found, record := f.maps(t, ns, other), target(f.read(t, ns, c.name))
				return found == both && record == c.place+"/"+c.kept, found + ", on record " + record
			})
			p.kill(t)
			await(t, "the malformed spec to be stored", func() (bool, string) { // a changed CRD takes effect a moment later
				_, err := f.all(ns).Patch(t.Context(), c.name, types.MergePatchType, []byte(`{"spec":{"target":7}}`), metav1.PatchOptions{})
				return err == nil, fmt.Sprint(err)
			})
			lift()
			if found, record := f.maps(t, ns, other), target(f.read(t, ns, c.name)); found != both || record != c.place+"/"+c.kept {
				t.Fatalf("without an operator: %s, on record %s", found, record)
			}
			p = f.restart(t, ns)
			f.awaitEvent(t, ns, c.name, "FooBarFailedValidation", "spec.target", "found number 7")
			f.awaitMaps(t, c.place+"/"+c.kept+"="+c.name, ns, other)
			u := f.read(t, ns, c.name)
			if stalled, _ := condition(u, "Stalled"); stalled != "True InvalidSpec" || target(u) != c.place+"/"+c.kept {
				t.Errorf("while it is malformed: %s, on record %s", stalled, target(u))
			}
			f.patch(t, ns, c.name, `{"spec":{"target":"c"}}`)
			f.awaitReady(t, ns, c.name, c.place+"/c")
			f.awaitMaps(t, c.place+"/c="+c.name, ns, other)
			f.kubectl(t, nil, "-n", ns, "delete", "foobar", c.name, "--timeout=3m")
			f.awaitMaps(t, "", ns, other)
			p.stop(t)
		})
	}
}

// restart starts a process for one namespace, which does not wait for the lease of a killed one.
func (f *foobars) restart(t *testing.T, ns string) *process {
	t.Helper()
	f.kubectl(t, nil, "-n", "test-operators", "delete", "lease", "foobar-operator", "--ignore-not-found")
	return f.start(t, "--namespace", ns)
}

// deny rejects writes in a namespace for which an expression is false, until it is lifted. The attempt is a command line that
// makes such a write.
func (f *foobars) deny(t *testing.T, ns, match, holds string, attempt []string) (lift func()) {
	t.Helper()
	const name = "half-way"
	f.kubectl(t, []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+name+`}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+ns+`}}
    resourceRules: [`+match+`]
  validations: [{expression: "`+holds+`", message: "it is held up"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+name+`}
spec: {policyName: `+name+`, validationActions: [Deny]}
`), "create", "-f", "-")
	lift = func() {
		f.kubectl(t, nil, "delete", "--ignore-not-found", "validatingadmissionpolicybinding/"+name, "validatingadmissionpolicy/"+name)
		await(t, "the policy to be lifted", func() (bool, string) {
			out, err := f.tryKubectl(nil, append(attempt, "--dry-run=server")...)
			return err == nil, out
		})
	}
	t.Cleanup(func() {
		f.kubectl(t, nil, "delete", "--ignore-not-found", "validatingadmissionpolicybinding/"+name, "validatingadmissionpolicy/"+name)
	})
	await(t, "the policy to hold", func() (bool, string) {
		out, err := f.tryKubectl(nil, append(attempt, "--dry-run=server")...)
		return err != nil && strings.Contains(out, "held up"), out
	})
	return lift
}

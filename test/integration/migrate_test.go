package integration

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// gadgets have two versions, of which the older one is stored at first.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// unwritable is a policy by which one object cannot be written.
const unwritable = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: unwritable}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: ["*"], operations: [UPDATE], resources: [gadgets]}]}
  validations: [{expression: "object.metadata.name != 'g7'", message: g7 stays as it is}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: unwritable}
spec: {policyName: unwritable, validationActions: [Deny]}
`

// TestMigrate: the command stores all objects in the version that the CRD names, so that the other one can be removed from the CRD. It
// says what it may not do, and which objects it could not write.
func TestMigrate(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	const ns, user, objects = "gadgets", "migrator", 60
	r := bareRig(t, cluster.Options{Nodes: -1, Users: map[string]string{user: user}})
	r.kubectl(t, []byte(gadgets), "create", "-f", "-")
	all := r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}).Namespace(r.namespace(t, ns))
	await(t, "gadgets to be served", func() (bool, string) {
		_, err := all.List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil, fmt.Sprint(err)
	})
	for i := range objects {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": fmt.Sprint("g", i)}, "spec": int64(i)}}
		if _, err := all.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "author"}); err != nil {
			t.Fatal(err)
		}
	}
	r.patchDefinition(t, "gadgets.example.com", `[{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	await(t, "new objects to be stored as v1", func() (bool, string) {
		crd, err := operator.Definitions(t, r.cluster).Get(t.Context(), "gadgets.example.com", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions := valueOf(crd, "status", "storedVersions")
		return versions == `["v1alpha1","v1"]`, versions
	})

	migrate := func(code int, out, says string) {
		t.Helper()
		stdout, stderr, got := runStoic(t, "migrate", "gadgets.example.com", "--kubeconfig", r.cluster.UserKubeconfig(user))
		if got != code || stdout != out || !strings.Contains(stderr, says) {
			t.Errorf("code %d, stdout %q, stderr %q, want %d, %q and %q", got, stdout, stderr, code, out, says)
		}
	}
	const crds = "apiextensions.k8s.io"
	reads := []rbacv1.PolicyRule{
		{APIGroups: []string{crds}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"gadgets.example.com"}, Verbs: []string{"get"}},
		{APIGroups: []string{"example.com"}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list"}},
	}
	migrate(1, "", "is forbidden: ")
	r.bind(t, user, reads)
	await(t, "the user to read gadgets", func() (bool, string) {
		return r.mayIn(t, user, ns, right{"list", "example.com", "gadgets"}), "it may not"
	})
	migrate(1, "", "error: the right is missing to patch gadgets.example.com, to patch customresourcedefinitions/status.apiextensions.k8s.io, in all namespaces\n")
	r.kubectl(t, nil, "delete", "clusterrole/rights-"+user, "clusterrolebinding/rights-"+user)
	r.bind(t, user, append(reads,
		rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"gadgets"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{crds}, Resources: []string{"customresourcedefinitions/status"}, ResourceNames: []string{"gadgets.example.com"}, Verbs: []string{"patch"}}))

	isWritable := func(want bool) {
		t.Helper()
		await(t, fmt.Sprint("g7 to be writable: ", want), func() (bool, string) {
			_, err := all.Patch(t.Context(), "g7", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			return (err == nil) == want, fmt.Sprint(err)
		})
	}
	r.kubectl(t, []byte(unwritable), "create", "-f", "-")
	isWritable(false)
	migrate(1, "59 objects of gadgets.example.com written as v1, 1 could not be; status.storedVersions is [v1alpha1 v1]\n", "g7 stays as it is")
	r.kubectl(t, []byte(unwritable), "delete", "-f", "-")
	isWritable(true)
	migrate(0, "60 objects of gadgets.example.com written as v1; status.storedVersions is [v1]\n", "")
	migrate(0, "nothing to do: status.storedVersions of gadgets.example.com is [v1]\n", "")

	// Without the old version in the CRD no object that is still stored in it could be read.
	r.patchDefinition(t, "gadgets.example.com", `[{"op":"remove","path":"/spec/versions/1"}]`)
	await(t, "the old version to be gone", func() (bool, string) {
		_, err := r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1alpha1", Resource: "gadgets"}).List(t.Context(), metav1.ListOptions{Limit: 1})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	list, err := all.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != objects {
		t.Fatalf("%d of %d objects without the old version: %v", len(list.Items), objects, err)
	}
	for _, u := range list.Items {
		fields := u.GetManagedFields()
		if u.GetName() != fmt.Sprint("g", u.Object["spec"]) || len(fields) != 1 || fields[0].Manager != "author" || u.GetGeneration() != 1 {
			t.Fatalf("%s has changed: %v", u.GetName(), u.Object)
		}
	}
}

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

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

// migrating is the command, run by one user on one control plane.
type migrating struct {
	*rig
	gadgets dynamic.NamespaceableResourceInterface
	user    string
	objects int
}

// TestMigrate: the command stores all objects in the version that the CRD names, so that the other one can be removed from the CRD.
func TestMigrate(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	const namespace, user, reader = "gadgets", "migrator", "reader"
	r := bareRig(t, cluster.Options{Nodes: -1, Users: map[string]string{user: user, reader: reader}})
	m := &migrating{rig: r, user: r.cluster.UserKubeconfig(user), objects: 600,
		gadgets: r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"})}
	r.kubectl(t, []byte(gadgets), "create", "-f", "-")
	r.namespace(t, namespace)
	await(t, "gadgets to be served", func() (bool, string) {
		_, err := m.gadgets.List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil, fmt.Sprint(err)
	})
	m.store(t, namespace)
	r.patchDefinition(t, "gadgets.example.com", `[{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	await(t, "new objects to be stored as v1", func() (bool, string) {
		versions := m.storedVersions(t)
		return versions == "[v1alpha1 v1]", versions
	})

	before := m.versions(t)
	m.calls(t, 1, "", "error: read the CRD gadgets.example.com: ", "is forbidden: ")
	definition := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"gadgets.example.com"}, Verbs: []string{"get"}}
	r.bind(t, reader, []rbacv1.PolicyRule{definition, {APIGroups: []string{"example.com"}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list"}}})
	reading := *m
	reading.user = r.cluster.UserKubeconfig(reader)
	reading.calls(t, 1, "", "error: the right is missing to patch gadgets.example.com, to patch customresourcedefinitions/status.apiextensions.k8s.io, in all namespaces\n")
	r.bind(t, user, []rbacv1.PolicyRule{
		definition,
		{APIGroups: []string{"example.com"}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list", "patch"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions/status"}, ResourceNames: []string{"gadgets.example.com"}, Verbs: []string{"patch"}},
	})

	r.kubectl(t, []byte(unwritable), "create", "-f", "-")
	await(t, "the policy to be in force", func() (bool, string) {
		_, err := m.gadgets.Namespace(namespace).Patch(t.Context(), "g7", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, fmt.Sprint(err)
	})
	m.calls(t, 1, "599 objects of gadgets.example.com could be written as v1, 1 could not; status.storedVersions is [v1alpha1 v1]\n", "gadgets/g7: ", "g7 stays as it is", "--dry-run")
	if written := m.since(t, before); written != 0 {
		t.Errorf("a dry run has written %d objects", written)
	}
	m.calls(t, 1, "599 objects of gadgets.example.com written as v1, 1 could not be; status.storedVersions is [v1alpha1 v1]\n", "gadgets/g7: ", "g7 stays as it is", "error: not all objects could be written: 1 of 600\n")
	if written := m.since(t, before); written != 599 {
		t.Errorf("%d objects were written", written)
	}

	r.kubectl(t, []byte(unwritable), "delete", "-f", "-")
	between := m.versions(t)
	await(t, "the policy to be gone", func() (bool, string) {
		_, err := m.gadgets.Namespace(namespace).Patch(t.Context(), "g7", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil, fmt.Sprint(err)
	})
	m.calls(t, 0, "600 objects of gadgets.example.com written as v1; status.storedVersions is [v1]\n")
	if written := m.since(t, between); written != 1 {
		t.Errorf("the second run has written %d objects, and 1 was left", written)
	}
	m.calls(t, 0, "nothing to do: status.storedVersions of gadgets.example.com is [v1]\n")
	m.withoutTheOld(t, namespace)
}

// store creates objects in the version that is stored at first.
func (m *migrating) store(t *testing.T, ns string) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range m.objects {
		group.Go(func() error {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": fmt.Sprintf("g%d", i)}, "spec": int64(i)}}
			_, err := m.gadgets.Namespace(ns).Create(ctx, u, metav1.CreateOptions{FieldManager: "author"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// calls runs the command, which must exit with this code. Standard output must have this text, and standard error all of says,
// except those that are flags: the command gets these.
func (m *migrating) calls(t *testing.T, code int, out string, says ...string) {
	t.Helper()
	args := []string{"migrate", "gadgets.example.com", "--kubeconfig", m.user}
	for _, s := range says {
		if strings.HasPrefix(s, "--") {
			args = append(args, s)
		}
	}
	cmd := exec.CommandContext(context.Background(), build(t, "./cmd/stoic", raceDetector()...), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatalf("run migrate: %v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code || stdout.String() != out {
		t.Errorf("%q: code %d, stdout %q, stderr %q, want %d and %q", args, got, &stdout, &stderr, code, out)
	}
	for _, s := range says {
		if !strings.HasPrefix(s, "--") && !strings.Contains(stderr.String(), s) {
			t.Errorf("%q: stderr %q, want %q", args, &stderr, s)
		}
	}
}

func (m *migrating) storedVersions(t *testing.T) string {
	t.Helper()
	crd, err := operator.Definitions(t, m.cluster).Get(t.Context(), "gadgets.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return fmt.Sprint(versions)
}

// versions returns those of all objects: they change with each write.
func (m *migrating) versions(t *testing.T) map[string]string {
	t.Helper()
	list, err := m.gadgets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, u := range list.Items {
		found[u.GetName()] = u.GetResourceVersion()
	}
	return found
}

// since counts the objects that have been written since.
func (m *migrating) since(t *testing.T, before map[string]string) (written int) {
	t.Helper()
	for name, version := range m.versions(t) {
		if before[name] != version {
			written++
		}
	}
	return written
}

// withoutTheOld: without the old version in the CRD no object that is still stored in it could be read. All objects are
// unchanged, and an apply that names a UID creates none.
func (m *migrating) withoutTheOld(t *testing.T, ns string) {
	t.Helper()
	m.patchDefinition(t, "gadgets.example.com", `[{"op":"remove","path":"/spec/versions/1"}]`)
	await(t, "the old version to be gone", func() (bool, string) {
		_, err := m.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1alpha1", Resource: "gadgets"}).List(t.Context(), metav1.ListOptions{Limit: 1})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	list, err := m.gadgets.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != m.objects {
		t.Fatalf("%d of %d objects without the old version: %v", len(list.Items), m.objects, err)
	}
	for _, u := range list.Items {
		fields := u.GetManagedFields()
		if name := fmt.Sprintf("g%d", u.Object["spec"]); u.GetName() != name || len(fields) != 1 || fields[0].Manager != "author" || u.GetGeneration() != 1 {
			t.Fatalf("%s has changed: %v", u.GetName(), u.Object)
		}
	}
	const lost = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"lost","namespace":"gadgets","uid":"0e4ed0f1-5a31-4a0f-a9a0-7d2c3c0dbd65"}}`
	if _, err := m.gadgets.Namespace(ns).Patch(t.Context(), "lost", types.ApplyPatchType, []byte(lost), metav1.PatchOptions{FieldManager: "x"}); !apierrors.IsConflict(err) {
		t.Errorf("an apply of what was deleted: %v, want a conflict", err)
	}
}

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/controller"
	"stoic/schema"
	"stoic/test/operator"
)

// permission is a right in one namespace, or in all, to the object of one name, or to all.
type permission struct {
	right
	namespace, name string
}

func (p permission) String() string {
	return strings.TrimSpace(fmt.Sprint(p.right, " ", strings.TrimPrefix(p.namespace+"/"+p.name, "/")))
}

// bound are the roles of some manifests, and the users who hold them: "system:serviceaccount:NAMESPACE:NAME".
type bound struct {
	roles   map[string][]permission // by "ClusterRole NAME", or "Role NAMESPACE/NAME"
	holders map[string][]string     // the roles of a user
}

// boundBy reads manifests.
func boundBy(t *testing.T, paths ...string) bound {
	t.Helper()
	all := bound{map[string][]permission{}, map[string][]string{}}
	for _, path := range paths {
		eachDocument(t, path, all.add)
	}
	return all
}

// eachDocument calls a function for each document of a manifest.
func eachDocument(t *testing.T, path string, take func(kind string, document []byte) error) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for reader := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var head metav1.PartialObjectMetadata
		if err == nil {
			err = yaml.Unmarshal(document, &head)
		}
		if err == nil {
			err = take(head.Kind, document)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// add adds a document. A Role has the fields of a ClusterRole, and a RoleBinding those of a ClusterRoleBinding.
func (b bound) add(kind string, document []byte) error {
	switch kind {
	case "ClusterRole", "Role":
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			return err
		}
		b.roles[roleName(kind, role.Namespace, role.Name)] = permissionsOf(role.Namespace, role.Rules)
	case "ClusterRoleBinding", "RoleBinding":
		var binding rbacv1.ClusterRoleBinding
		if err := yaml.UnmarshalStrict(document, &binding); err != nil {
			return err
		}
		for _, subject := range binding.Subjects {
			user := "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
			b.holders[user] = append(b.holders[user], roleName(binding.RoleRef.Kind, binding.Namespace, binding.RoleRef.Name))
		}
	}
	return nil
}

func roleName(kind, namespace, name string) string {
	if kind == "ClusterRole" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func permissionsOf(namespace string, rules []rbacv1.PolicyRule) (all []permission) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, permission{right{verb, group, resource}, namespace, name})
					}
				}
			}
		}
	}
	return all
}

// used returns the permissions that a user's requests needed, in all forms in which a rule can give them.
func (r *rig) used(t *testing.T, user string) map[permission]bool {
	t.Helper()
	found := map[permission]bool{}
	for _, q := range r.requestsOf(t, user) {
		if q.ResponseStatus.Code == http.StatusForbidden || q.ObjectRef.Resource == "" {
			continue
		}
		one := right{q.Verb, q.ObjectRef.APIGroup, q.ObjectRef.Resource}
		if q.ObjectRef.Subresource != "" {
			one.resource += "/" + q.ObjectRef.Subresource
		}
		for _, namespace := range []string{"", q.ObjectRef.Namespace} {
			for _, name := range []string{"", q.ObjectRef.Name} {
				found[permission{one, namespace, name}] = true
			}
		}
	}
	return found
}

// whole reports whether -run and -skip leave no part of a suite out.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && strings.Contains(f.Value.String(), "/") {
			return false
		}
	}
	return true
}

// eachRightIsUsed: users have used, in the whole suite, every right that manifests give them, according to the audit log. A right
// that no case needs is superfluous, or lacks a case. An admission plugin checks the rights to finalizers of owners, which no log
// shows: finalizersAreGuarded covers these.
func eachRightIsUsed(t *testing.T, r *rig, guarded []guard, paths ...string) {
	if !whole() {
		t.Skip("only the whole suite uses all rights")
	}
	given := boundBy(t, paths...)
	if len(given.holders) == 0 {
		t.Error("nobody has rights")
	}
	for user, roles := range given.holders {
		used := r.used(t, user)
		for _, g := range guarded {
			if slices.Contains(g.users, user) {
				used[permission{right: g.right}] = true
			}
		}
		for _, role := range roles {
			if len(given.roles[role]) == 0 {
				t.Errorf("%s has %s, which there is not", user, role)
			}
			for _, p := range given.roles[role] {
				if !used[p] {
					t.Errorf("%s gives the right to %s, which %s has never used", role, p, user)
				}
				// Operators share namespaces, and must not take each other's lease. No rule can restrict the name of a creation.
				if p.resource == "leases" && p.verb != "create" && p.name == "" {
					t.Errorf("%s gives the right to %s of any name", role, p)
				}
			}
		}
	}
}

// begun creates an object as a process leaves it that is killed between writing the status and creating what the object owns. The
// next process reads such an object from the API server before it creates anything, as its cache may be stale.
func (r *rig) begun(t *testing.T, watches []controller.Watch, plural, ns, name, manifest string) {
	t.Helper()
	at := slices.IndexFunc(watches, func(w controller.Watch) bool { return w.Resource.Plural == plural })
	watch := watches[at]
	all := r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: watch.Resource.Group, Version: watch.Resource.Version, Resource: plural})
	objects := dynamic.ResourceInterface(all)
	if !watch.Resource.Cluster {
		objects = all.Namespace(ns)
	}
	r.apply(t, ns, manifest)
	u, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	result := watch.Convert(u)
	observed := schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Now: time.Now(), KeepsGeneration: true}
	for _, owned := range watch.Owns {
		observed.Children = append(observed.Children, schema.Children{Resource: owned.Resource})
	}
	plan := watch.Decide(observed)
	status, err := json.Marshal(map[string]any{"status": plan.Status})
	if err != nil || len(plan.Create) == 0 {
		t.Fatalf("the plan for a new %s is %s, %v", watch.Resource.Kind, plan.Rule, err)
	}
	mergePatch(t, objects, name, string(status), "status")
}

// guard is an object that owns others, which block its deletion. Creating those needs the right to update the owner's finalizers,
// where the admission plugin OwnerReferencesPermissionEnforcement runs.
type guard struct {
	right
	users []string // who create what it owns
	kind  string
	make  func(t *testing.T, ns string) // creates one with the name guarded
}

// guarded reports whether it was rejected while finalizersAreGuarded had removed the right, which it removes for all namespaces.
func (a audited) guarded() bool { return strings.Contains(a.ResponseStatus.Message, noOwner) }

// noOwner is part of the API server's message then.
const noOwner = "cannot set blockOwnerDeletion"

// finalizersOf returns the right that is needed.
func finalizersOf(group, plural string) right { return right{"update", group, plural + "/finalizers"} }

// finalizersAreGuarded: without the right nothing is created, and an event about each object says why. With the right, nothing
// needs a restart.
func finalizersAreGuarded(t *testing.T, r *rig, ns string, guards []guard, paths ...string) {
	r.namespace(t, ns)
	given := boundBy(t, paths...)
	may := func(g guard, want bool) {
		t.Helper()
		for _, user := range g.users {
			await(t, fmt.Sprint("the right of ", user, " to ", g.right, " to be ", want), func() (bool, string) {
				return r.mayIn(t, user, ns, g.right) == want, "the opposite"
			})
		}
	}
	r.withoutFinalizers(t, given)
	for _, g := range guards {
		may(g, false)
		g.make(t, ns)
		await(t, "the author of the "+g.kind+" to be told", func() (bool, string) {
			list, err := r.typed.CoreV1().Events("").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=guarded,involvedObject.kind=" + g.kind})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, e := range list.Items {
				said += e.Reason + ": " + e.Message + "\n"
			}
			return strings.Contains(said, noOwner), said
		})
	}
	if made := r.madeIn(t, ns, guards); len(made) > 0 {
		t.Errorf("without the right there are %v", made)
	}
	for _, path := range paths {
		r.kubectl(t, nil, "apply", "-f", path)
	}
	for _, g := range guards {
		may(g, true)
	}
	await(t, "what was refused to be made", func() (bool, string) {
		made := r.madeIn(t, ns, guards)
		return len(made) >= len(guards), fmt.Sprint(made)
	})
	for _, g := range guards {
		r.kubectl(t, nil, "-n", ns, "delete", strings.TrimSuffix(g.resource, "/finalizers")+"."+g.group, "guarded", "--timeout=3m")
	}
}

// madeIn returns the objects that operators have created in a namespace.
func (r *rig) madeIn(t *testing.T, ns string, guards []guard) (made []string) {
	t.Helper()
	var users []string
	for _, g := range guards {
		users = append(users, g.users...)
	}
	for _, q := range r.requestsOf(t, users...) {
		if q.Verb == "create" && q.ResponseStatus.Code == http.StatusCreated && q.ObjectRef.Namespace == ns && q.ObjectRef.Resource != "events" {
			made = append(made, q.RequestURI)
		}
	}
	return made
}

// withoutFinalizers removes the rights to finalizers from the cluster roles.
func (r *rig) withoutFinalizers(t *testing.T, given bound) {
	t.Helper()
	taken := 0
	for role := range given.roles {
		kind, name, _ := strings.Cut(role, " ")
		if kind != "ClusterRole" {
			continue
		}
		now, err := r.typed.RbacV1().ClusterRoles().Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		before := len(now.Rules)
		now.Rules = slices.DeleteFunc(now.Rules, func(rule rbacv1.PolicyRule) bool { return strings.HasSuffix(rule.Resources[0], "/finalizers") })
		if _, err := r.typed.RbacV1().ClusterRoles().Update(context.Background(), now, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		taken += before - len(now.Rules)
	}
	if taken == 0 {
		t.Fatal("no role has a right to finalizers")
	}
}

// strictWithOwners returns the owners for whose finalizers the control plane requires rights. A separate server of custom
// resources requires none for the dependents that it creates.
func strictWithOwners(guards []guard) []guard {
	if operator.CRs() != cluster.CRsAggregated {
		return guards
	}
	return slices.DeleteFunc(slices.Clone(guards), func(g guard) bool { return g.kind == "FooBarSet" })
}

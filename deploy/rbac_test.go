package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

// resources lists a resource of every kind: tfjobs, or tfjobs/status.
func resources(subresource string) []string {
	var all []string
	for _, kind := range kinds.All() {
		all = append(all, kind.Plural+subresource)
	}
	return all
}

// TestLeastPrivilege: the operator's permissions, word for word. Nothing else is granted: no wildcard, no secret, no update of a spec, no
// webhook configuration, no CRD.
func TestLeastPrivilege(t *testing.T) {
	all := documents(t)
	group := []string{"kubeflow.org"}
	want := []rbacv1.PolicyRule{
		{APIGroups: group, Resources: resources(""), Verbs: []string{"get", "list", "watch", "patch", "delete"}},
		{APIGroups: group, Resources: resources("/status"), Verbs: []string{"patch"}},
		{APIGroups: group, Resources: resources("/finalizers"), Verbs: []string{"update"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		{APIGroups: []string{"scheduling.volcano.sh", "scheduling.x-k8s.io"}, Resources: []string{"podgroups"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"workloads", "podgroups"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"priorityclasses"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, into[rbacv1.ClusterRole](t, all, "ClusterRole/training-operator").Rules); diff != "" {
		t.Errorf("cluster-wide permissions (-wanted +found):\n%s", diff)
	}
	whole := []string{"get", "list", "watch", "create", "patch", "delete"}
	want = []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: whole[:5]},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles"}, Verbs: whole[:5]},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: whole},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"rolebindings"}, Verbs: whole},
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, into[rbacv1.ClusterRole](t, all, "ClusterRole/training-operator-mpijob").Rules); diff != "" {
		t.Errorf("permissions for MPIJobs (-wanted +found):\n%s", diff)
	}
	want = []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{lease(t)}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	}
	role := into[rbacv1.Role](t, all, "kubeflow/Role/training-operator-leader-election")
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("permissions in the operator's namespace (-wanted +found):\n%s", diff)
	}
}

// lease is the default of --leader-election-id, as the reference of the flags has it.
func lease(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `--leader-election-id` string \\| `([-a-z0-9.]+)`").FindSubmatch(text)
	if row == nil {
		t.Fatal("docs/reference/flags.md has no default of --leader-election-id")
	}
	return string(row[1])
}

// TestNoRoleIsWide: no role, including those for users, has a wildcard or grants access to a secret or a role. The role for MPIJobs is
// the exception: launchers get Roles, so it grants what these hold, but neither escalate nor bind.
func TestNoRoleIsWide(t *testing.T) {
	forbidden := []string{"*", "secrets", "roles", "clusterroles", "rolebindings", "clusterrolebindings",
		"serviceaccounts", "pods/exec", "impersonate", "escalate", "bind"}
	for _, d := range documents(t) {
		if d.head.Kind != "ClusterRole" && d.head.Kind != "Role" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same fields, and fewer
		if err := yaml.UnmarshalStrict(d.raw, &role); err != nil {
			t.Fatalf("parse %s: %v", d.id(), err)
		}
		for _, rule := range role.Rules {
			for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
				if d.head.Name == "training-operator-mpijob" && slices.Contains([]string{"roles", "rolebindings", "serviceaccounts", "pods/exec"}, word) {
					continue
				}
				if slices.Contains(forbidden, word) {
					t.Errorf("%s grants %q", d.id(), word)
				}
			}
		}
	}
}

func TestBindings(t *testing.T) {
	all := documents(t)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "training-operator", Namespace: "kubeflow"}}
	cluster := into[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding/training-operator")
	local := into[rbacv1.RoleBinding](t, all, "kubeflow/RoleBinding/training-operator-leader-election")
	mpi := into[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding/training-operator-mpijob")
	for name, subjects := range map[string][]rbacv1.Subject{"cluster": cluster.Subjects, "local": local.Subjects, "MPIJobs": mpi.Subjects} {
		if diff := cmp.Diff(account, subjects); diff != "" {
			t.Errorf("%s binding (-wanted +found):\n%s", name, diff)
		}
	}
	if mpi.RoleRef.Name != "training-operator-mpijob" || cluster.RoleRef.Name != "training-operator" || local.RoleRef.Name != "training-operator-leader-election" {
		t.Errorf("roles bound: %s, %s", cluster.RoleRef.Name, local.RoleRef.Name)
	}
}

// TestUserRolesAggregate: the administrators' role has no rules of its own: the API server fills it from the editors' role.
func TestUserRolesAggregate(t *testing.T) {
	all := documents(t)
	admin := into[rbacv1.ClusterRole](t, all, "ClusterRole/kubeflow-training-admin")
	edit := into[rbacv1.ClusterRole](t, all, "ClusterRole/kubeflow-training-edit")
	view := into[rbacv1.ClusterRole](t, all, "ClusterRole/kubeflow-training-view")
	if admin.AggregationRule == nil || len(admin.Rules) != 0 {
		t.Fatalf("admin must aggregate and have no rules, has %+v", admin)
	}
	for key, value := range admin.AggregationRule.ClusterRoleSelectors[0].MatchLabels {
		if edit.Labels[key] != value {
			t.Errorf("edit lacks the label %s=%s, by which admin finds it", key, value)
		}
	}
	for _, rule := range view.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("view may %s %v", verb, rule.Resources)
			}
		}
	}
	for _, role := range []rbacv1.ClusterRole{edit, view} {
		for _, plural := range resources("") {
			if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, plural) }) {
				t.Errorf("%s does not speak of %s", role.Name, plural)
			}
		}
		queues := rbacv1.PolicyRule{APIGroups: []string{"kueue.x-k8s.io"}, Resources: []string{"localqueues"}, Verbs: []string{"get", "list"}}
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, queues) }) {
			t.Errorf("%s has not %+v, by which its users choose a queue", role.Name, queues)
		}
	}
}

// TestEditorsScale: who may edit jobs may scale them: kubectl scale writes only the scale subresource.
func TestEditorsScale(t *testing.T) {
	all := documents(t)
	for _, kind := range kinds.All() {
		crd := into[crdv1.CustomResourceDefinition](t, all, "CustomResourceDefinition/"+kind.Plural+"."+kind.Group)
		selector := ".status.replicaStatuses.Worker.selector"
		want := &crdv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec." + kind.ReplicaSpecsField + ".Worker.replicas",
			StatusReplicasPath: ".status.replicaStatuses.Worker.active", LabelSelectorPath: &selector}
		if diff := cmp.Diff(want, crd.Spec.Versions[0].Subresources.Scale); diff != "" {
			t.Errorf("scale of %s (-wanted +found):\n%s", kind.Name, diff)
		}
	}
	want := rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org"}, Resources: resources("/scale"), Verbs: []string{"get", "patch", "update"}}
	for name, may := range map[string]bool{"kubeflow-training-edit": true, "kubeflow-training-view": false, "training-operator": false} {
		role := into[rbacv1.ClusterRole](t, all, "ClusterRole/"+name)
		does := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, want) })
		speaks := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(r.Resources, func(s string) bool { return strings.HasSuffix(s, "/scale") })
		})
		if does != may || speaks != may {
			t.Errorf("%s: scales %v, speaks of scaling %v, wanted %v", name, does, speaks, may)
		}
	}
}

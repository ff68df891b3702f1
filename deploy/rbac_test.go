package deploy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

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

// TestUserRoles: the administrators' role has no rules, because the API server fills it from the editors' role. Editors may scale jobs,
// viewers may only read. Both may list the queues that a job can name.
func TestUserRoles(t *testing.T) {
	all := documents(t)
	role := func(name string) rbacv1.ClusterRole {
		return into[rbacv1.ClusterRole](t, all, "ClusterRole/kubeflow-training-"+name)
	}
	admin, edit, view := role("admin"), role("edit"), role("view")
	if admin.AggregationRule == nil || len(admin.Rules) != 0 {
		t.Fatalf("admin must aggregate and have no rules, has %+v", admin)
	}
	for key, value := range admin.AggregationRule.ClusterRoleSelectors[0].MatchLabels {
		if edit.Labels[key] != value {
			t.Errorf("edit lacks the label %s=%s, by which admin finds it", key, value)
		}
	}
	var jobs, scales []string
	for _, kind := range kinds.All() {
		jobs = append(jobs, kind.Plural)
		scales = append(scales, kind.Plural+"/scale")
	}
	read := []string{"get", "list", "watch"}
	queues := rbacv1.PolicyRule{APIGroups: []string{"kueue.x-k8s.io"}, Resources: []string{"localqueues"}, Verbs: read[:2]}
	group := []string{"kubeflow.org"}
	for _, grant := range []struct {
		role rbacv1.ClusterRole
		rule rbacv1.PolicyRule
	}{
		{view, rbacv1.PolicyRule{APIGroups: group, Resources: jobs, Verbs: read}},
		{edit, rbacv1.PolicyRule{APIGroups: group, Resources: scales, Verbs: []string{"get", "patch", "update"}}},
		{view, queues},
		{edit, queues},
	} {
		if !slices.ContainsFunc(grant.role.Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, grant.rule) }) {
			t.Errorf("%s has no rule %+v", grant.role.Name, grant.rule)
		}
	}
	for _, rule := range view.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains(read, verb) {
				t.Errorf("view may %s %v", verb, rule.Resources)
			}
		}
	}
}

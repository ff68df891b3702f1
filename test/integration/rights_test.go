package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// right is one verb of one resource.
type right struct{ verb, group, resource string }

func (one right) String() string {
	return strings.TrimSuffix(one.verb+" "+one.resource+"."+one.group, ".")
}

// name returns that of the user who lacks the right, and of a namespace.
func (one right) name() string {
	return strings.NewReplacer(" ", "-", ".", "-", "/", "-").Replace(one.String())
}

// words returns part of the API server's message about the missing right.
func (one right) words() string {
	return fmt.Sprintf("cannot %s resource %q", one.verb, one.resource)
}

// in reports whether a rule gives the right.
func (one right) in(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.APIGroups, one.group) && slices.Contains(rule.Resources, one.resource) && slices.Contains(rule.Verbs, one.verb)
}

// shippedRules returns those of the operator's roles, in all files of deploy. Roles for users, and that of the reader of the
// metrics, are not the operator's.
func shippedRules(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "deploy", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for reader := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var role rbacv1.ClusterRole // a Role has the same fields, and fewer
			if yaml.Unmarshal(document, &role) != nil || role.Kind != "ClusterRole" && role.Kind != "Role" {
				continue
			}
			if strings.HasPrefix(role.Name, "training-operator") && role.Name != "training-operator-metrics-reader" {
				rules = append(rules, role.Rules...)
			}
		}
	}
	return rules
}

// without returns rules without this verb; the rules must have it.
func (one right) without(t *testing.T, rules []rbacv1.PolicyRule) (rest []rbacv1.PolicyRule) {
	t.Helper()
	taken := false
	for _, rule := range rules {
		if !one.in(rule) {
			rest = append(rest, rule)
			continue
		}
		taken = true
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				verbs := slices.Clone(rule.Verbs)
				if group == one.group && resource == one.resource {
					verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == one.verb })
				}
				if len(verbs) > 0 {
					rest = append(rest, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: verbs})
				}
			}
		}
	}
	if !taken {
		t.Fatalf("no role gives the right to %s", one)
	}
	return rest
}

// TestEachRightHasItsCase: every right in a role has a case that shows what happens without it, or the resource is alike one that has.
// So the operator gets no rights that it does not need.
func TestEachRightHasItsCase(t *testing.T) {
	full(t)
	shipped := map[right]bool{}
	for _, rule := range shippedRules(t) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					shipped[right{verb, group, resource}] = true
				}
			}
		}
	}
	shown := map[string]bool{}
	for _, s := range shortages() {
		if shown[s.right.String()] {
			t.Errorf("%s has two cases", s.right)
		}
		if !shipped[s.right] {
			t.Errorf("%s has a case, and no role gives it", s.right)
		}
		shown[s.right.String()] = true
	}
	same, others := alike(), shownElsewhere()
	for one := range shipped {
		resource := strings.TrimSuffix(one.resource+"."+one.group, ".")
		if !shown[one.String()] && !shown[one.verb+" "+same[resource]] && others[one] == "" {
			t.Errorf("%s is given, and no case shows what is without it", one)
		}
	}
	if len(shipped) < 100 {
		t.Errorf("found %d rights", len(shipped))
	}
}

// TestMissingRights removes one right after the other from a separate operator. It reports that, stays alive and ready, and
// continues by itself when it has the right. Operators and namespaces share a control plane that enforces rights strictly.
func TestMissingRights(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	users := map[string]string{}
	for _, s := range shortages() {
		users[s.name()] = s.name()
	}
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, volcanoFixture)}, Users: users, Strict: true})
	r.permit(t)
	r.flags = nil // the race detector would take most of the time
	all := shippedRules(t)
	each := map[string]func(*testing.T, *rig){}
	for _, s := range shortages() {
		each[s.name()] = func(t *testing.T, r *rig) { s.run(t, r.of(s.kind), all) }
	}
	sideBySide(t, r, each)
}

// run runs the case.
func (s shortage) run(t *testing.T, r *rig, all []rbacv1.PolicyRule) {
	ns := r.namespace(t, s.name())
	r.bind(t, ns, s.without(t, all))
	await(t, "the API server to know the user's rights", func() (bool, string) {
		may, lacks := r.may(t, ns, right{"create", "coordination.k8s.io", "leases"}), r.may(t, ns, s.right)
		return (may || s.right == right{"create", "coordination.k8s.io", "leases"}) && !lacks, fmt.Sprint(may, lacks)
	})
	if s.before != nil {
		s.before(t, r, ns)
	}
	p := s.operator(t, r)
	if s.reach != nil {
		s.reach(t, r, ns)
	}
	s.shows(t, r, p)
	s.grant(t, r, all)
	s.heals(t, r, ns)
	p.answers(t, http.StatusOK)
}

// operator starts the operator as the user who lacks the right. It returns when the process answers.
func (s shortage) operator(t *testing.T, r *rig) *process {
	t.Helper()
	p := &process{operator.Started(t, operator.Options{Command: operator.Stoic(build(t, ".", r.flags...)), Kubeconfig: r.cluster.UserKubeconfig(s.name()),
		Namespace: s.name(), Flags: s.flags})}
	await(t, "the operator to answer", func() (bool, string) { return p.Probe(t.Context(), "/healthz") == http.StatusOK, p.Tail() })
	return p
}

// shows: a metric names the right, the log has the API server's words, and an event about an affected job reports it. The
// operator is alive, and ready unless there is something that it has never read.
func (s shortage) shows(t *testing.T, r *rig, p *process) {
	t.Helper()
	verb, resource := s.verb, s.resource
	words := s.words()
	if s.refused != (refusal{}) {
		verb, resource, words = s.refused.verb, s.refused.resource, s.refused.words
	}
	await(t, "training_operator_missing_rights_total", func() (bool, string) {
		n, found, _ := p.Sample(t.Context(), "training_operator_missing_rights_total", fmt.Sprintf("verb=%q", verb), fmt.Sprintf("resource=%q", resource))
		return found && n > 0, p.Tail()
	})
	if s.event != "" {
		await(t, "the event "+s.event, func() (bool, string) {
			all := r.events(t, s.name(), jobName)
			return slices.ContainsFunc(all, func(e event) bool {
				return e.Type == "Warning" && e.Reason == s.event && strings.Contains(e.Message, words)
			}), fmt.Sprint(all)
		})
	}
	if !s.silent {
		await(t, "the log to say what is missing", func() (bool, string) { return strings.Contains(p.Text(), inLog(words)), p.Tail() })
	}
	ready := http.StatusOK
	if s.needed && s.verb == "list" {
		ready = http.StatusServiceUnavailable
	}
	p.answers(t, ready)
}

// answers: the process is alive, and its readiness is as expected.
func (p *process) answers(t *testing.T, ready int) {
	t.Helper()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": ready} {
		await(t, path, func() (bool, string) {
			code := p.Probe(t.Context(), path)
			return code == want, fmt.Sprint(code, ", want ", want)
		})
	}
}

// inLog returns a text as it is in a JSON log line.
func inLog(text string) string { return strings.ReplaceAll(text, `"`, `\"`) }

// may reports whether the API server gives a user a right in the namespace of the same name.
func (r *rig) may(t *testing.T, user string, one right) bool {
	t.Helper()
	return r.mayIn(t, user, user, one)
}

// mayIn reports whether a user has a right in a namespace.
func (r *rig) mayIn(t *testing.T, user, namespace string, one right) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(one.resource, "/")
	answer, err := r.typed.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: one.verb, Group: one.group, Resource: resource, Subresource: subresource}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// grant grants the user all rights.
func (s shortage) grant(t *testing.T, r *rig, all []rbacv1.PolicyRule) {
	t.Helper()
	roles := r.typed.RbacV1().ClusterRoles()
	role, err := roles.Get(context.Background(), "rights-"+s.name(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = all
	if _, err := roles.Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// bind gives a user these rules and no others.
func (r *rig) bind(t *testing.T, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "rights-" + user}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	if _, err := r.typed.RbacV1().ClusterRoles().Create(context.Background(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.typed.RbacV1().ClusterRoleBindings().Create(context.Background(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/training"
)

// right is one verb of one resource that deploy/rbac gives, and what shows that it is missing: a line of the log says so in
// the API server's words, a sample of a metric is above 0, an event of the job says so, too.
type right struct {
	verb, resource string
	metric         []string
	event          string // its reason; "" if there is none
}

func (one right) name() string {
	return one.verb + "-" + strings.ReplaceAll(one.resource, "/", "-")
}

// rightsThatMatter to a job without gang scheduling or autoscaler. To list is left out: the API server streams what there is
// as the beginning of a watch, and lists are asked for only where it cannot.
func rightsThatMatter() []right {
	watches := func(kind string) []string {
		return []string{"training_operator_watch_errors_total", `kind="` + kind + `"`}
	}
	retries := []string{"training_operator_reconcile_errors_total", `class="retry"`, `kind="TFJob"`}
	return []right{
		{"watch", "tfjobs", watches("TFJob"), ""},
		{"patch", "tfjobs/status", retries, "TFJobFailedValidation"},
		{"watch", "pods", watches("Pod"), ""},
		{"create", "pods", retries, "FailedCreatePod"},
		{"create", "services", retries, "FailedCreateService"},
		{"get", "leases", nil, ""},
		{"create", "leases", nil, ""},
		{"update", "leases", nil, ""},
	}
}

// TestMissingRights takes one verb of one resource away from the operator. It says so, stays alive and ready, and goes on by
// itself when it has the right.
func TestMissingRights(t *testing.T) {
	t.Parallel() // it mostly waits
	users := map[string]string{}
	for _, one := range rightsThatMatter() {
		users[one.name()] = one.name()
	}
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}, Users: users})
	r.permit(t)
	all := r.ruleset(t)
	t.Run("each", func(t *testing.T) {
		for _, one := range rightsThatMatter() {
			t.Run(one.name(), func(t *testing.T) {
				t.Parallel()
				r.namespace(t, one.name())
				r.bind(t, one.name(), one.without(t, all))
				r.apply(t, one.name(), manifest("job", endless("", "")))
				if one.verb == "update" {
					one.leaseLost(t, r)
				} else {
					one.missing(t, r)
				}
			})
		}
	})
}

// words of the API server about the missing right.
func (one right) words() string {
	return fmt.Sprintf("cannot %s resource %q", one.verb, one.resource)
}

// inLog is a text as a line of the log, which is JSON, has it.
func inLog(text string) string { return strings.ReplaceAll(text, `"`, `\"`) }

func (one right) missing(t *testing.T, r *rig) {
	ns := one.name()
	flags := []string{"--kubeconfig", r.cluster.UserKubeconfig(ns)}
	if one.resource == "leases" {
		flags = append(flags, "--leader-elect", "--leader-election-namespace", ns)
	}
	p := r.operator(t, ns, flags...)
	await(t, "the log to say what is missing", func() (bool, string) {
		return strings.Contains(p.Text(), inLog(one.words())), p.Tail()
	})
	if one.metric != nil {
		await(t, strings.Join(one.metric, " "), func() (bool, string) {
			n, found := p.metric(t, one.metric...)
			return found && n > 0, fmt.Sprint(n, found)
		})
	} else if n, found := p.metric(t, "leader_election_master_status"); !found || n != 0 {
		t.Errorf("without the lease leader_election_master_status is %v, %v", n, found)
	}
	if one.event != "" {
		await(t, "an event", func() (bool, string) {
			all := r.events(t, ns, "job")
			return slices.ContainsFunc(all, func(e event) bool {
				return e.Type == "Warning" && e.Reason == one.event && strings.Contains(e.Message, one.words())
			}), fmt.Sprint(all)
		})
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code := p.Probe(t.Context(), path); code != http.StatusOK {
			t.Errorf("%s answers %d", path, code)
		}
	}
	one.grant(t, r)
	r.awaitState(t, ns, "job", training.Running)
}

// leaseLost: a lease that cannot be renewed is lost, and the process ends, as it must. What the kubelet starts then waits, and
// does not end again.
func (one right) leaseLost(t *testing.T, r *rig) {
	ns := one.name()
	start := func() *operator.Process {
		p, err := operator.Start(operator.Options{Command: operator.Stoic(build(t, ".", r.flags...)), Kubeconfig: r.cluster.UserKubeconfig(ns),
			Namespace: ns, Flags: []string{"--leader-elect", "--leader-election-namespace", ns}, Log: filepath.Join(t.TempDir(), "log")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Kill() }) // the first has ended
		return p
	}
	says := inLog(one.words())
	first := start()
	await(t, "the lease to be lost", func() (bool, string) { return !first.Alive(), first.Tail() })
	if text := first.Text(); first.Exit() == nil || !strings.Contains(text, says) || !strings.Contains(text, "the lease was lost") {
		t.Errorf("it ended with %v:\n%s", first.Exit(), first.Tail())
	}
	second := start()
	await(t, "the log to say what is missing", func() (bool, string) { return strings.Contains(second.Text(), says), second.Tail() })
	if !second.Alive() || !second.Ready(t.Context()) {
		t.Errorf("the second has ended, or is not ready:\n%s", second.Tail())
	}
	one.grant(t, r)
	await(t, "the second to have the lease", func() (bool, string) {
		n, found, err := second.Sample(t.Context(), "leader_election_master_status")
		return found && n == 1, fmt.Sprint(n, found, err)
	})
	r.awaitState(t, ns, "job", training.Running)
}

// grant the user all rights.
func (one right) grant(t *testing.T, r *rig) {
	t.Helper()
	roles := r.typed.RbacV1().ClusterRoles()
	role, err := roles.Get(context.Background(), "rights-"+one.name(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = r.ruleset(t)
	if _, err := roles.Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ruleset is what deploy/rbac gives, in the operator's own namespace, too.
func (r *rig) ruleset(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	everywhere, err := r.typed.RbacV1().ClusterRoles().Get(context.Background(), "training-operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mpi, err := r.typed.RbacV1().ClusterRoles().Get(context.Background(), "training-operator-mpijob", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	home, err := r.typed.RbacV1().Roles("kubeflow").Get(context.Background(), "training-operator-leader-election", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(everywhere.Rules, mpi.Rules, home.Rules)
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

// without this verb; the rules must have it.
func (one right) without(t *testing.T, rules []rbacv1.PolicyRule) (rest []rbacv1.PolicyRule) {
	t.Helper()
	taken := false
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, one.resource) || !slices.Contains(rule.Verbs, one.verb) {
			rest = append(rest, rule)
			continue
		}
		taken = true
		others, own := rule.DeepCopy(), rule.DeepCopy()
		others.Resources = slices.DeleteFunc(others.Resources, func(name string) bool { return name == one.resource })
		own.Resources = []string{one.resource}
		own.Verbs = slices.DeleteFunc(own.Verbs, func(verb string) bool { return verb == one.verb })
		for _, part := range []*rbacv1.PolicyRule{others, own} {
			if len(part.Resources) > 0 && len(part.Verbs) > 0 {
				rest = append(rest, *part)
			}
		}
	}
	if !taken {
		t.Fatalf("deploy/rbac does not give %s of %s", one.verb, one.resource)
	}
	return rest
}

// TestTroubleshooting: the page has a row for each right, and the tests that it names exist.
func TestTroubleshooting(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, one := range rightsThatMatter() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` of `%s` \\|.*$", one.verb, one.resource)).FindString(page)
		shown := append(slices.Clone(one.metric), one.event)
		if one.metric == nil {
			shown = append(shown, "leader_election_master_status")
		}
		for _, words := range shown {
			if row == "" || !strings.Contains(row, words) && words != `kind="TFJob"` {
				t.Errorf("the row of %s of %s does not have %q: %s", one.verb, one.resource, words, row)
			}
		}
	}
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(source)
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(page, -1) {
		if !strings.Contains(all, "\nfunc "+name+"(") {
			t.Errorf("the page names %s, which is not here", name)
		}
	}
}

package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func TestFate(t *testing.T) {
	const unknown = math.MaxInt32
	for _, test := range []struct {
		policy     schema.RestartPolicy
		expendable bool
		code       int32
		want       fate
	}{
		{schema.RestartAlways, false, 1, replaced},
		{schema.RestartAlways, true, 137, replaced},
		{schema.RestartOnFailure, false, unknown, replaced},
		{schema.RestartOnFailure, true, 1, replaced},
		{schema.RestartNever, false, 137, fatal},
		{schema.RestartNever, false, unknown, fatal},
		{schema.RestartNever, true, 1, stays},
		{schema.RestartExitCode, false, 0, fatal},
		{schema.RestartExitCode, false, 1, fatal},
		{schema.RestartExitCode, false, 127, fatal},
		{schema.RestartExitCode, false, 128, replaced},
		{schema.RestartExitCode, false, 255, replaced},
		{schema.RestartExitCode, false, -1, fatal},
		{schema.RestartExitCode, false, unknown, replaced},
		{schema.RestartExitCode, true, 127, stays},
		{schema.RestartExitCode, true, 128, replaced},
		{schema.RestartExitCode, true, unknown, replaced},
	} {
		r := &replica{role: &schema.Role{Restart: test.policy, Expendable: test.expendable},
			pod: &schema.Pod{Phase: corev1.PodFailed, Exits: []schema.Exit{{Container: "side", Code: 1}}}}
		if test.code != unknown {
			r.pod.Exits = append(r.pod.Exits, schema.Exit{Container: "main", Code: test.code})
		}
		if got := fateOf(r, "main"); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
		r.pod.Deleting = true
		if got := fateOf(r, "main"); got != stays {
			t.Errorf("%+v, deleting: got %v", test, got)
		}
		for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodUnknown} {
			r.pod = &schema.Pod{Phase: phase}
			if got := fateOf(r, "main"); got != stays {
				t.Errorf("%+v, %s: got %v", test, phase, got)
			}
		}
	}
}

// TestLead covers the rule that no kind uses yet along with the others.
func TestLead(t *testing.T) {
	for name, test := range map[string]struct {
		rule schema.LeadRule
		pods []string
		want bool
	}{
		"all, all":               {schema.LeadAll, []string{"Succeeded", "Succeeded"}, true},
		"all, one":               {schema.LeadAll, []string{"Succeeded", "Running"}, false},
		"all, one deleting":      {schema.LeadAll, []string{"Succeeded", "Succeeded deleting"}, false},
		"all, none asked for":    {schema.LeadAll, nil, false},
		"first, it":              {schema.LeadFirst, []string{"Succeeded", "Failed"}, true},
		"first, another":         {schema.LeadFirst, []string{"Running", "Succeeded"}, false},
		"first, missing":         {schema.LeadFirst, []string{"gone", "Succeeded"}, false},
		"first, none asked for":  {schema.LeadFirst, nil, false},
		"any, one, none active":  {schema.LeadAny, []string{"Pending", "Succeeded"}, true},
		"any, one, one active":   {schema.LeadAny, []string{"Running", "Succeeded"}, false},
		"any, none":              {schema.LeadAny, []string{"Pending", "Failed"}, false},
		"any, one on its way":    {schema.LeadAny, []string{"Running deleting", "Succeeded"}, true},
		"no rule, all succeeded": {"", []string{"Succeeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			n := len(test.pods)
			w.Roles = map[string]roleKnobs{"Worker": {Replicas: &n}}
			for i, words := range test.pods {
				w.setPod(t, fmt.Sprintf("j-worker-%d", i), words)
			}
			o := w.observe()
			o.Job.Lead.Rule = test.rule
			d := newDraft(o)
			if got := succeeded(d); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSet(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(s) * time.Second)) }
	was := []schema.Condition{
		{Type: schema.Running, Status: "True", Reason: "A", Message: "a", LastUpdateTime: at(1), LastTransitionTime: at(1)},
		{Type: "Odd", Status: "True"},
	}
	for name, test := range map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   []schema.Condition
	}{
		"the same":     {"True", "A", was},
		"other reason": {"True", "B", []schema.Condition{was[1], {Type: schema.Running, Status: "True", Reason: "B", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(1)}}},
		"other status": {"False", "A", []schema.Condition{was[1], {Type: schema.Running, Status: "False", Reason: "A", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &draft{now: at(9), status: schema.Status{Conditions: append([]schema.Condition(nil), was...)}}
			if changed := d.set(schema.Running, test.status, test.reason, "b"); changed != (name != "the same") {
				t.Error("changed:", changed)
			}
			if diff := gocmp.Diff(test.want, d.status.Conditions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSame(t *testing.T) {
	at := metav1.NewTime(epoch)
	full := func() schema.Status {
		return schema.Status{
			Conditions:      []schema.Condition{{Type: "A", Status: "True", Reason: "r", Message: "m", LastUpdateTime: at, LastTransitionTime: at}},
			ReplicaStatuses: map[string]schema.ReplicaStatus{"Worker": {Active: 1}},
			StartTime:       at.DeepCopy(), CompletionTime: at.DeepCopy(), LastReconcileTime: at.DeepCopy(), ObservedGeneration: 1,
		}
	}
	later := metav1.NewTime(epoch.Add(time.Second))
	for name, change := range map[string]func(*schema.Status){
		"one more":    func(s *schema.Status) { s.Conditions = append(s.Conditions, schema.Condition{}) },
		"type":        func(s *schema.Status) { s.Conditions[0].Type = "B" },
		"status":      func(s *schema.Status) { s.Conditions[0].Status = "False" },
		"reason":      func(s *schema.Status) { s.Conditions[0].Reason = "" },
		"message":     func(s *schema.Status) { s.Conditions[0].Message = "" },
		"update":      func(s *schema.Status) { s.Conditions[0].LastUpdateTime = later },
		"transition":  func(s *schema.Status) { s.Conditions[0].LastTransitionTime = later },
		"counts":      func(s *schema.Status) { s.ReplicaStatuses["Worker"] = schema.ReplicaStatus{Active: 2} },
		"role":        func(s *schema.Status) { s.ReplicaStatuses["PS"] = schema.ReplicaStatus{} },
		"start":       func(s *schema.Status) { s.StartTime = nil },
		"completion":  func(s *schema.Status) { s.CompletionTime = &later },
		"reconcile":   func(s *schema.Status) { s.LastReconcileTime = nil },
		"generation":  func(s *schema.Status) { s.ObservedGeneration = 2 },
		"zero update": func(s *schema.Status) { s.Conditions[0].LastUpdateTime = metav1.Time{} },
	} {
		a, b := full(), full()
		change(&b)
		if same(&a, &b, true) || same(&b, &a, true) {
			t.Errorf("%s: not seen", name)
		}
	}
	a, b := full(), full()
	b.ObservedGeneration = 7
	b.StartTime = &metav1.Time{Time: epoch.Add(time.Second / 2).In(time.FixedZone("", 3600))}
	if !same(&a, &b, false) {
		t.Error("a generation that is dropped, a fraction of a second or a time zone makes no difference")
	}
	if !same(&schema.Status{StartTime: &metav1.Time{}}, &schema.Status{Conditions: []schema.Condition{}, ReplicaStatuses: map[string]schema.ReplicaStatus{}}, true) {
		t.Error("nothing and empty are the same")
	}
}

func TestUntil(t *testing.T) {
	for _, test := range []struct {
		limit   int64
		elapsed time.Duration
		want    time.Duration
	}{
		{10, 0, 10 * time.Second},
		{10, 9500 * time.Millisecond, 500 * time.Millisecond},
		{10, 10 * time.Second, soon},
		{10, time.Hour, soon},
		{0, 0, soon},
		{10, -time.Hour, 10 * time.Second}, // in the future counts as now
		{86400, 0, 24 * time.Hour},
		{86401, 0, 24 * time.Hour},
		{math.MaxInt64, 0, 24 * time.Hour},
		{math.MaxInt64, -1 << 62, 24 * time.Hour},
	} {
		d := newDraft(Observed{Now: epoch.Add(test.elapsed)})
		if got := d.until(metav1.NewTime(epoch), schema.Limit{Set: true, Value: test.limit}); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

func TestStrayIndex(t *testing.T) {
	w := newWorld()
	two := 2
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &two}}
	d := newDraft(w.observe())
	for name, want := range map[string]int{
		"j-worker-2": 2, "j-worker-9999": 9999, "j-ps-0": 0, "j-chief-3": 3,
		"j-worker-0": -1, "j-worker-1": -1, "j-worker-02": -1, "j-worker--2": -1, "j-worker-+2": -1, "j-worker-2 ": -1,
		"j-worker-": -1, "j-worker": -1, "j--2": -1, "j-2": -1, "j-": -1, "j": -1, "": -1, "j-Worker-2": -1, "j-launcher-2": -1,
		"x-worker-2": -1, "jj-worker-2": -1, "j-worker-9223372036854775808": -1, "j-worker-2-worker-2": -1,
	} {
		index, is := d.strayIndex(name)
		if is != (want >= 0) || is && index != want {
			t.Errorf("%q: got %d, %v", name, index, is)
		}
	}
}

// TestBounded: a plan has an end, and says that there is more.
func TestBounded(t *testing.T) {
	w := newWorld()
	many := schema.MaxReplicas
	w.Dynamic = true
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &many}}
	p := Make(w.observe())
	if len(p.Create) != maxSteps || p.Recheck != soon || p.Create[maxSteps-1].Name != "j-worker-249" {
		t.Errorf("%d created, recheck %s", len(p.Create), p.Recheck)
	}
	for i := range 600 {
		w.setPod(t, fmt.Sprintf("j-ps-%d", i), "Running")
	}
	p = Make(w.observe())
	if len(p.Delete) != maxSteps || p.Recheck != soon || p.Delete[0].Name != "j-ps-599" {
		t.Errorf("%d deleted, recheck %s", len(p.Delete), p.Recheck)
	}
	w.Suspend = true
	if p = Make(w.observe()); len(p.Delete) != maxSteps || p.Recheck != soon {
		t.Errorf("suspended: %d deleted, recheck %s", len(p.Delete), p.Recheck)
	}

	// The cap falls between a service and its pod.
	w = newWorld()
	w.Dynamic = true
	w.services["j-worker-0"] = &schema.Service{Name: "j-worker-0"}
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &many}}
	if p = Make(w.observe()); len(p.Create) != maxSteps || p.Create[maxSteps-1].Resource != schema.Services() || p.Recheck != soon {
		t.Errorf("%d created, recheck %s", len(p.Create), p.Recheck)
	}

	w = newWorld()
	w.Dynamic = true
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &many,
		Template: `{"spec":{"containers":[{"name":"tensorflow","args":["` + strings.Repeat("x", maxBytes/10) + `"]}]}}`}}
	p = Make(w.observe())
	if n := len(p.Create); n != 20 || p.Recheck != soon {
		t.Errorf("%d large pods created, recheck %s", n, p.Recheck)
	}
}

// TestEnvironmentOnce: what all replicas share is built once, and only if a pod is made.
func TestEnvironmentOnce(t *testing.T) {
	w := newWorld()
	kind := *w.kind
	built, asked := 0, 0
	kind.Environment = func(job *schema.Job, domain string) func(*schema.Role, int) []schema.EnvVar {
		built++
		return func(*schema.Role, int) []schema.EnvVar {
			asked++
			return []schema.EnvVar{{Name: "DOMAIN", Value: domain}}
		}
	}
	kind.EnvEverywhere = true
	w.kind = &kind
	three := 3
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &three, Template: `{"spec":{"containers":[{"name":"a"},{"name":"tensorflow"}]}}`}}
	o := w.observe()
	o.Domain = "cluster.local"
	p := Make(o)
	if built != 1 || asked != 3 || strings.Count(string(p.Create[1].Body), `"value":"cluster.local"`) != 2 {
		t.Errorf("built %d times, asked %d times: %s", built, asked, p.Create[1].Body)
	}
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	delete(w.services, "j-worker-1")
	if p = Make(w.observe()); len(p.Create) != 1 || built != 1 {
		t.Errorf("built %d times for %v", built, p.Create)
	}
	kind.Environment = nil
	delete(w.pods, "j-worker-1")
	if p = Make(w.observe()); len(p.Create) != 2 || strings.Contains(string(p.Create[1].Body), "env") {
		t.Errorf("without an environment: %v", p.Create)
	}
}

func TestNothingObserved(t *testing.T) {
	for name, o := range map[string]Observed{
		"nothing":            {},
		"a head without job": {Head: &schema.Head{Kind: schema.TFJob()}},
	} {
		if diff := gocmp.Diff(Plan{}, Make(o)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	w := newWorld()
	w.problems = []schema.Problem{{}}
	o := w.observe()
	o.Rejection.Problems = nil // must not be; must not hurt
	if p := Make(o); p.Status == nil || len(p.Count) != 1 {
		t.Errorf("got %+v", p)
	}
}

// TestMessagesAreBounded: what comes from the author or from an edited status is cut and cleaned.
func TestMessagesAreBounded(t *testing.T) {
	w := newWorld()
	w.problems = []schema.Problem{{Path: strings.Repeat("p", 5000), Want: "be\nshort\x1b[31m"}}
	o := w.observe()
	p := Make(o)
	checkPlan(t, o, p)
	if n := len(p.Events[0].Message); n != maxMessage {
		t.Error("event of", n, "bytes")
	}
	for _, c := range p.Status.Conditions {
		if len(c.Message) > schema.MaxSummary {
			t.Error("condition of", len(c.Message), "bytes")
		}
	}
}

func TestJobRole(t *testing.T) {
	const label = `"training.kubeflow.org/job-role":"master"`
	two := 2
	for name, test := range map[string]struct {
		roles map[string]roleKnobs
		want  string
	}{
		"chief, all of them": {map[string]roleKnobs{"Chief": {Replicas: &two}, "Worker": {Replicas: &two}}, "j-chief-0 j-chief-1"},
		"worker 0":           {map[string]roleKnobs{"PS": {}, "Worker": {Replicas: &two}}, "j-worker-0"},
		"nobody":             {map[string]roleKnobs{"PS": {}}, ""},
	} {
		w := newWorld()
		w.Roles = test.roles
		var got []string
		for _, o := range Make(w.observe()).Create {
			if strings.Contains(string(o.Body), label) {
				got = append(got, o.Name)
				if o.Resource != schema.Pods() {
					t.Errorf("%s: on a %s", name, o.Resource.Kind)
				}
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

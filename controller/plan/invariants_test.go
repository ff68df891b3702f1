package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// checkPlan holds for every plan there is.
func checkPlan(t interface {
	Helper()
	Fatalf(string, ...any)
}, o Observed, p Plan) {
	t.Helper()
	for _, broken := range brokenRules(o, p) {
		t.Fatalf("%s\nplan: %+v\nobserved: %+v", broken, p, o)
	}
}

func brokenRules(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	pods, services := map[string]schema.Pod{}, map[string]schema.Service{}
	for _, x := range o.Pods {
		pods[x.Name] = x
	}
	for _, x := range o.Services {
		services[x.Name] = x
	}
	if verdict(&o.Head.Status) != "" && o.Rejection == nil && len(p.Create) > 0 {
		say("a finished job creates")
	}
	if (o.Rejection != nil || o.Head.Meta.DeletionTimestamp != nil) && len(p.Create)+len(p.Delete)+len(p.Update) > 0 {
		say("a rejected or deleted job touches its children")
	}
	if len(p.Create) > maxSteps || len(p.Delete) > maxSteps {
		say("%d creations, %d deletions", len(p.Create), len(p.Delete))
	}
	if p.Recheck < 0 {
		say("recheck %s", p.Recheck)
	}
	if had := schema.Count(o.Head.Ledger.Restarts); p.Ledger != nil && p.Ledger.Verdict == "" && p.Ledger.Restarts <= had && had != schema.MaxCount {
		say("the total went from %d to %d", had, p.Ledger.Restarts)
	}
	if had := o.Head.Ledger.Verdict; had != "" && o.Rejection == nil && len(p.Create) > 0 || had != "" && p.Ledger != nil {
		say("%s is on record, and the job goes on", had)
	}
	touched := map[string]bool{}
	for _, d := range p.Delete {
		key := d.Resource.Plural + "/" + d.Name
		if touched[key] {
			say("%s is deleted twice", key)
		}
		touched[key] = true
		switch d.Resource {
		case schema.Pods():
			x, ok := pods[d.Name]
			if !ok || x.UID != d.UID || x.Deleting {
				say("deletes pod %s, which is not there or on its way", d.Name)
			}
			if !recorded(o, p, &x) {
				say("replaces pod %s, which is not on record", d.Name)
			}
		case schema.Services():
			if x, ok := services[d.Name]; !ok || x.UID != d.UID || x.Deleting {
				say("deletes service %s, which is not there or on its way", d.Name)
			}
		}
	}
	wanted := map[string]bool{}
	if o.Job != nil {
		for _, r := range o.Job.Roles {
			for i := range r.Replicas {
				wanted[schema.ChildName(o.Head.Meta.Name, r.Label, i)] = true
			}
		}
	}
	if o.Job != nil && len(o.Job.ExtraObjects()) > 0 {
		wanted[o.Head.Meta.Name] = true
	}
	for _, c := range p.Create {
		if !wanted[c.Name] {
			say("creates %s, which nobody asks for", c.Name)
		}
		key := c.Resource.Plural + "/" + c.Name
		if touched[key] {
			say("%s is deleted and created, or created twice", key)
		}
		touched[key] = true
		_, isPod := pods[c.Name]
		_, isService := services[c.Name]
		if c.Resource == schema.Pods() && isPod || c.Resource == schema.Services() && isService {
			say("creates %s, which is there", key)
		}
		if !json.Valid(c.Body) {
			say("%s: no JSON: %s", key, c.Body)
		}
	}
	broken = append(broken, brokenExtras(o, p)...)
	broken = append(broken, brokenStatus(o, p)...)
	for _, e := range p.Events {
		if e.Message == "" || len(e.Message) > maxMessage || strings.ContainsAny(e.Message, "\n\r") || e.Occasion == "" || e.Reason == "" ||
			e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
			say("event %+v", e)
		}
		if age := o.Now.Sub(e.Since); age >= tellFor || age <= -tellAhead {
			say("event of %s ago: %+v", age, e)
		}
	}
	return broken
}

// recorded: a failed pod of a job that goes on is on record, unless the job has no place for it.
func recorded(o Observed, p Plan, x *schema.Pod) bool {
	after := o.Head.Status
	if p.Status != nil {
		after = *p.Status
	}
	if x.Phase != corev1.PodFailed || o.Job == nil || o.Job.Policy.Suspend || verdict(&after) != "" {
		return true
	}
	ledger := o.Head.Ledger
	if p.Ledger != nil {
		ledger = *p.Ledger
	}
	for _, role := range o.Job.Roles {
		for i := range role.Replicas {
			if x.Name == schema.ChildName(o.Head.Meta.Name, role.Label, i) {
				return ledger.Failed[schema.ReplicaName(role.Label, i)].Pod == x.UID
			}
		}
	}
	return true
}

// brokenExtras: extra objects are made before pods, which do not come before what they wait for.
func brokenExtras(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	stored := map[schema.Resource]schema.StoredExtra{}
	for _, e := range o.Extras {
		if e.Name == o.Head.Meta.Name {
			stored[e.Resource] = e
		}
	}
	unseen := func(r schema.Resource) bool {
		return slices.ContainsFunc(o.Unseen, func(u schema.Unseen) bool { return u.Resource == r })
	}
	for _, u := range p.Update {
		if e, ok := stored[u.Resource]; !ok || e.UID != u.UID || e.Deleting || !json.Valid(u.Patch) || unseen(u.Resource) {
			say("updates %s %s, which is not there or on its way: %s", u.Resource.Kind, u.Name, u.Patch)
		}
	}
	pods := 0
	for _, c := range p.Create {
		switch _, there := stored[c.Resource]; {
		case c.Resource == schema.Pods(), c.Resource == schema.Services():
			pods++
		case pods > 0:
			say("%s after pods", c.Resource.Kind)
		case there, unseen(c.Resource):
			say("creates %s %s, which is there or may be", c.Resource.Kind, c.Name)
		}
	}
	if gang := o.Head.Kind.Cluster.Gang; gang.On() && pods > 0 {
		group, ok := stored[gang.Resource()]
		admitted := gang.Name() != "volcano" || group.Phase != "" && group.Phase != "Pending"
		if !ok || group.Deleting || unseen(gang.Resource()) || !admitted {
			say("creates pods before their group is there: %+v", group)
		}
	}
	return broken
}

// brokenStatus checks the algebra of conditions.
func brokenStatus(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	s := p.Status
	if s == nil {
		return nil
	}
	var seen []schema.ConditionType
	for _, c := range s.Conditions {
		if slices.Contains(seen, c.Type) {
			say("two conditions %s", c.Type)
		}
		seen = append(seen, c.Type)
	}
	if i := slices.Index(seen, schema.Stalled); i > 0 {
		say("Stalled is not first: %v", seen)
	}
	if s.Is(schema.Succeeded) && s.Is(schema.Failed) {
		say("two verdicts")
	}
	if o.Rejection == nil {
		if s.Is(schema.Running) && s.Is(schema.Restarting) {
			say("Running and Restarting")
		}
		if len(seen) == 0 || !slices.Contains(seen, schema.Created) {
			say("not created: %v", seen)
		}
		if s.Verdict() != "" && (s.Is(schema.Running) || s.Is(schema.Restarting) || s.CompletionTime == nil) {
			say("a verdict, and still running, restarting or without end")
		}
		if s.Verdict() == "" && s.CompletionTime != nil {
			say("an end and no verdict")
		}
		for role, counts := range s.ReplicaStatuses {
			if counts.Active != 0 && (s.Verdict() != "" || s.Is(schema.Suspended)) {
				say("%s active", role)
			}
		}
	}
	read := tidy(o.Head.Status, metav1.NewTime(o.Now))
	if before := verdict(&read); before != "" && s.Verdict() != before {
		say("the verdict was %s and is %q", before, s.Verdict())
	}
	return broken
}

func TestInvariantsAreNotVacuous(t *testing.T) {
	w := newWorld()
	w.Roles = map[string]roleKnobs{"Worker": {}}
	o := w.observe()
	bad := Plan{
		Status: &schema.Status{Conditions: []schema.Condition{
			{Type: schema.Running, Status: "True"}, {Type: schema.Running, Status: "True"}, {Type: schema.Restarting, Status: "True"},
			{Type: schema.Stalled}, {Type: schema.Succeeded, Status: "True"}, {Type: schema.Failed, Status: "True"}},
			ReplicaStatuses: map[string]schema.ReplicaStatus{"Worker": {Active: 1}}},
		Delete:  []Deletion{{Resource: schema.Pods(), Name: "a"}, {Resource: schema.Pods(), Name: "a"}},
		Create:  []schema.Object{{Resource: schema.Pods(), Name: "a", Body: []byte("{")}},
		Events:  []Event{{}},
		Recheck: -1,
	}
	if got := brokenRules(o, bad); len(got) < 11 {
		t.Errorf("only %d rules broken: %v", len(got), got)
	}
}

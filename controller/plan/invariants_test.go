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
	if (o.Rejection != nil || o.Head.Meta.DeletionTimestamp != nil) && len(p.Create)+len(p.Delete) > 0 {
		say("a rejected or deleted job touches its children")
	}
	if len(p.Create) > maxSteps || len(p.Delete) > maxSteps {
		say("%d creations, %d deletions", len(p.Create), len(p.Delete))
	}
	if p.Recheck < 0 {
		say("recheck %s", p.Recheck)
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
			if x, ok := pods[d.Name]; !ok || x.UID != d.UID || x.Deleting {
				say("deletes pod %s, which is not there or on its way", d.Name)
			}
		case schema.Services():
			if x, ok := services[d.Name]; !ok || x.UID != d.UID || x.Deleting {
				say("deletes service %s, which is not there or on its way", d.Name)
			}
		}
	}
	for _, c := range p.Create {
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
	broken = append(broken, brokenStatus(o, p)...)
	for _, e := range p.Events {
		if e.Message == "" || len(e.Message) > maxMessage || strings.ContainsAny(e.Message, "\n\r") || e.Occasion == "" || e.Reason == "" ||
			e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
			say("event %+v", e)
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
	if got := brokenRules(o, bad); len(got) < 10 {
		t.Errorf("only %d rules broken: %v", len(got), got)
	}
}

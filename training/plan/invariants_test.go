package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// checkPlan checks the rules that hold for every plan. What a plan may do to objects that exist is checked by cluster.apply; what
// becomes of a job in the course of many plans is judged by test/faults/oracle, in test/faults/simulation.
func checkPlan(t interface {
	Helper()
	Fatalf(string, ...any)
}, o Observed, p Plan) {
	t.Helper()
	for _, broken := range brokenRules(o, p) {
		t.Fatalf("%s\nplan: %+v\nobserved: %+v", broken, p, o)
	}
}

func brokenRules(o Observed, p Plan) []string {
	return slices.Concat(brokenJob(o, p), brokenWrites(o, p), brokenStatus(o, p), brokenEvents(o, p))
}

// brokenJob checks what a plan may do at all, and how it may change the ledger.
func brokenJob(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	isOver := terminal(&o.Head.Status) != "" || o.Head.Ledger.Terminal != ""
	if isOver && o.Rejection == nil && len(p.Create) > 0 {
		say("a finished job creates")
	}
	if o.Rejection != nil && len(p.Create)+len(p.Delete)+len(p.Patch) > 0 {
		say("a rejected job touches its children")
	}
	if o.Head.Meta.DeletionTimestamp != nil && len(p.Create) > 0 {
		say("a job that is being deleted creates")
	}
	if len(p.Create) > maxSteps || len(p.Delete) > maxSteps {
		say("%d creations, %d deletions", len(p.Create), len(p.Delete))
	}
	if p.Requeue < 0 {
		say("recheck %s", p.Requeue)
	}
	if had := o.Head.Ledger; p.Ledger != nil && (had.Terminal != "" || p.Ledger.Disruptions < training.Count(had.Disruptions) ||
		p.Ledger.Terminal == "" && p.Ledger.Restarts < training.Count(had.Restarts)) {
		say("the ledger %+v is replaced by %+v", had, p.Ledger)
	}
	return broken
}

// brokenWrites: each object is written once, a created one is wanted, a deleted job was not changed, a failed pod is deleted only when
// its failure is recorded, and a replica whose success is recorded gets no other pod.
func brokenWrites(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	touched := map[string]bool{}
	touch := func(r schema.Resource, name string) {
		key := r.Plural + "/" + name
		if touched[key] {
			say("%s is deleted and created, or one of these twice", key)
		}
		touched[key] = true
	}
	for _, d := range p.Delete {
		touch(d.Resource, d.Name)
		if d.Resource == o.Head.Kind.Resource() && d.ResourceVersion != o.Head.Meta.ResourceVersion {
			say("deletes the job at version %q, seen at %q", d.ResourceVersion, o.Head.Meta.ResourceVersion)
		}
		i := slices.IndexFunc(o.Pods, func(x training.Pod) bool { return x.UID == d.UID })
		if d.Resource == schema.Pods() && i >= 0 && !recorded(o, p, &o.Pods[i]) {
			say("replaces pod %s, which is not on record", d.Name)
		}
	}
	wanted := wantedNames(o)
	for _, c := range p.Create {
		touch(c.Resource, c.Name)
		if !wanted[c.Name] || !json.Valid(c.Body) {
			say("creates %s, which nobody asks for, or with a body that is no JSON: %s", c.Name, c.Body)
		}
	}
	for _, rtype := range o.Head.Kind.ReplicaTypes {
		for i := range 12 {
			name := rtype.Child(o.Head.Meta.Name, i)
			isCreated := slices.ContainsFunc(p.Create, func(c schema.Object) bool { return c.Resource == schema.Pods() && c.Name == name })
			if isCreated && o.Head.Ledger.Succeeded[rtype.Label].Has(i) {
				say("makes %s again, which has succeeded", name)
			}
		}
	}
	return broken
}

// wantedNames returns the names of all objects that a job may have.
func wantedNames(o Observed) map[string]bool {
	wanted := map[string]bool{}
	if o.Job == nil {
		return wanted
	}
	for _, r := range o.Job.ReplicaTypes {
		for i := range r.Replicas {
			wanted[r.Child(o.Head.Meta.Name, i)] = true
		}
	}
	wanted[o.Head.Meta.Name] = o.Head.Kind.Cluster.Gang.Native
	for _, e := range o.Job.DependentObjects(o.Priorities, nil) {
		wanted[cmp.Or(e.Name, o.Head.Meta.Name)] = true
	}
	return wanted
}

// recorded reports whether a failed pod of a job that continues is in the ledger, or belongs to no replica of the job.
func recorded(o Observed, p Plan, x *training.Pod) bool {
	after := o.Head.Status
	if p.Status != nil {
		after = *p.Status
	}
	if x.Phase != corev1.PodFailed || o.Job == nil || o.Job.Policy.Suspend || terminal(&after) != "" {
		return true
	}
	ledger := o.Head.Ledger
	if p.Ledger != nil {
		ledger = *p.Ledger
	}
	for _, rtype := range o.Job.ReplicaTypes {
		for i := range rtype.Replicas {
			if x.Name == rtype.Child(o.Head.Meta.Name, i) {
				return ledger.Failed[rtype.Replica(i)].Pod == x.UID
			}
		}
	}
	return true
}

// brokenStatus checks the rules of conditions.
func brokenStatus(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	s := p.Status
	if s == nil {
		return nil
	}
	var types []training.ConditionType
	for _, c := range s.Conditions {
		if slices.Contains(types, c.Type) {
			say("two conditions %s", c.Type)
		}
		types = append(types, c.Type)
	}
	if slices.Index(types, training.Stalled) > 0 || shownByFlyte(s) == training.Stalled {
		say("a client that takes the newest condition for the state sees Stalled: %+v", s.Conditions)
	}
	if s.Is(training.Succeeded) && s.Is(training.Failed) {
		say("two terminal conditions")
	}
	read := tidy(o.Head.Status, metav1.NewTime(o.Now))
	if before := terminal(&read); before != "" && s.Terminal() != before {
		say("the terminal condition was %s and is %q", before, s.Terminal())
	}
	if o.Rejection != nil {
		return broken
	}
	if !slices.Contains(types, training.Created) || s.Is(training.Running) && s.Is(training.Restarting) {
		say("not created, or both running and restarting: %v", types)
	}
	if isOver := s.Terminal() != ""; isOver != (s.CompletionTime != nil) || isOver && (s.Is(training.Running) || s.Is(training.Restarting)) {
		say("%q, completed %v: %+v", s.Terminal(), s.CompletionTime, s.Conditions)
	}
	for rtype, counts := range s.ReplicaStatuses {
		if counts.Active != 0 && (s.Terminal() != "" || s.Is(training.Suspended)) {
			say("%s active", rtype)
		}
	}
	return broken
}

// brokenEvents: an event is valid, short and recent.
func brokenEvents(o Observed, p Plan) (broken []string) {
	for _, e := range p.Events {
		age := o.Now.Sub(e.Since)
		if e.Message == "" || len(e.Message) > maxMessage || strings.ContainsAny(e.Message, "\n\r") || e.Occasion == "" || e.Reason == "" ||
			e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning || age >= tellFor || age <= -tellAhead {
			broken = append(broken, fmt.Sprintf("event of %s ago: %+v", age, e))
		}
	}
	return broken
}

// shownByFlyte returns the state of a job as read by Flyte's plugin for the Kubeflow kinds: the newest condition that is
// True. It returns "" if fewer than two are True, because Stalled may be the only one.
func shownByFlyte(s *training.Status) training.ConditionType {
	newest := slices.Clone(s.Conditions)
	newest = slices.DeleteFunc(newest, func(c training.Condition) bool { return c.Status != metav1.ConditionTrue })
	slices.SortStableFunc(newest, func(a, b training.Condition) int {
		return cmp.Compare(b.LastTransitionTime.Unix(), a.LastTransitionTime.Unix())
	})
	if len(newest) < 2 {
		return ""
	}
	return newest[0].Type
}

// TestRulesNotice: each rule notices a plan that breaks it.
func TestRulesNotice(t *testing.T) {
	w := newCluster()
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {}}
	w.setPod(t, "j-worker-0", "Failed")
	w.ledger.Succeeded = map[string]training.Indices{"worker": training.ParseIndices("0")}
	for what, bad := range map[string]Plan{
		"two conditions":      {Status: &training.Status{Conditions: []training.Condition{{Type: training.Created}, {Type: training.Created}}}},
		"sees Stalled":        {Status: &training.Status{Conditions: []training.Condition{{Type: training.Created}, {Type: training.Stalled}}}},
		"not created":         {Status: &training.Status{}},
		"completed":           {Status: &training.Status{Conditions: []training.Condition{{Type: training.Created}, {Type: training.Failed, Status: "True"}}}},
		"which nobody asks":   {Create: []schema.Object{{Resource: schema.Pods(), Name: "a", Body: []byte("{}")}}},
		"no JSON":             {Create: []schema.Object{{Resource: schema.Services(), Name: "j-worker-0", Body: []byte("{")}}},
		"which has succeeded": {Create: []schema.Object{{Resource: schema.Pods(), Name: "j-worker-0", Body: []byte("{}")}}},
		"these twice":         {Delete: []Deletion{{Resource: schema.Services(), Name: "a"}, {Resource: schema.Services(), Name: "a"}}},
		"is not on record":    {Delete: []Deletion{{Resource: schema.Pods(), Name: "j-worker-0", UID: w.pods["j-worker-0"].UID}}},
		"deletes the job":     {Delete: []Deletion{{Resource: w.kind.Resource(), Name: "j", UID: w.meta.UID}}},
		"event of":            {Events: []Event{{}}},
		"recheck":             {Requeue: -1},
		"501 creations":       {Create: make([]schema.Object, maxSteps+1)},
	} {
		if got := strings.Join(brokenRules(w.observe(), bad), "\n"); !strings.Contains(got, what) {
			t.Errorf("%s: %s", what, got)
		}
	}
}

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// checkPlan checks the rules that hold for every plan.
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
	touched := map[string]bool{} // by resource and name
	return slices.Concat(brokenJob(o, p), brokenDeletions(o, p, touched), brokenCreations(o, p, touched),
		brokenSuccesses(o, p), brokenDependents(o, p), brokenStatus(o, p), brokenEvents(o, p), brokenFailures(o, p), brokenLauncher(o, p))
}

// brokenLauncher: a plan only creates the pod of a replica type if all that it reads is stored, and does not change that.
func brokenLauncher(o Observed, p Plan) (broken []string) {
	if o.Job == nil || o.Job.Kind.Dependents == nil {
		return nil
	}
	for _, e := range o.Job.DependentObjects(o.Priorities, nil) {
		creates := slices.ContainsFunc(p.Create, func(c schema.Object) bool { return c.Resource == e.Resource })
		behind := func(s training.StoredDependent) bool { return s.Resource == e.Behind && !s.Deleting }
		if e.Behind != (schema.Resource{}) && creates && !slices.ContainsFunc(o.Dependents, behind) {
			broken = append(broken, fmt.Sprintf("makes the %s without the %s", e.Resource.Kind, e.Behind.Kind))
		}
		rtype := o.Job.ReplicaType(e.Before)
		made := func(c schema.Object) bool {
			return c.Resource == schema.Pods() && c.Name == rtype.Child(o.Job.Meta.Name, 0)
		}
		if rtype == nil || !slices.ContainsFunc(p.Create, made) {
			continue
		}
		name := cmp.Or(e.Name, o.Job.Meta.Name)
		stored := slices.ContainsFunc(o.Dependents, func(s training.StoredDependent) bool {
			return s.Resource == e.Resource && s.Name == name && !s.Deleting
		})
		touched := slices.ContainsFunc(p.Patch, func(u Patch) bool { return u.Resource == e.Resource && u.Name == name }) ||
			slices.ContainsFunc(p.Delete, func(d Deletion) bool { return d.Resource == e.Resource && d.Name == name })
		if !stored || touched {
			broken = append(broken, fmt.Sprintf("makes the %s; %s %s stored: %t, changed: %t", rtype.Name, e.Resource.Kind, name, stored, touched))
		}
	}
	return broken
}

// brokenJob checks what a plan may do at all, and how it may change the ledger.
func brokenJob(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	if terminal(&o.Head.Status) != "" && o.Rejection == nil && len(p.Create) > 0 {
		say("a finished job creates")
	}
	if o.Rejection != nil && len(p.Create)+len(p.Delete)+len(p.Patch) > 0 {
		say("a rejected job touches its children")
	}
	if o.Head.Meta.DeletionTimestamp != nil {
		broken = append(broken, brokenDeparture(o, p)...)
	}
	if len(p.Create) > maxSteps || len(p.Delete) > maxSteps {
		say("%d creations, %d deletions", len(p.Create), len(p.Delete))
	}
	if p.Requeue < 0 {
		say("recheck %s", p.Requeue)
	}
	hadDisruptions := training.Count(o.Head.Ledger.Disruptions)
	if p.Ledger != nil && p.Ledger.Disruptions < hadDisruptions {
		say("the disruptions went from %d to %d", hadDisruptions, p.Ledger.Disruptions)
	}
	if had := training.Count(o.Head.Ledger.Restarts); p.Ledger != nil && p.Ledger.Terminal == "" &&
		(p.Ledger.Restarts < had || p.Ledger.Restarts == had && had != training.MaxCount && p.Ledger.Disruptions == hadDisruptions && hadDisruptions != training.MaxCount && reflect.DeepEqual(p.Ledger.Succeeded, o.Head.Ledger.Succeeded)) {
		say("the total went from %d to %d", had, p.Ledger.Restarts)
	}
	if had := o.Head.Ledger.Terminal; had != "" && o.Rejection == nil && len(p.Create) > 0 || had != "" && p.Ledger != nil {
		say("%s is on record, and the job goes on", had)
	}
	return broken
}

// brokenDeparture: a job that is being deleted creates nothing, deletes only what a job that is over or suspended deletes, and
// is neither deleted nor restarted. If its pods are to survive it, or it has not begun, nothing is written.
func brokenDeparture(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	after := o.Head.Status
	if p.Status != nil {
		after = *p.Status
	}
	rests := terminal(&after) != "" || after.Is(training.Suspended)
	if len(p.Create) > 0 || !rests && len(p.Delete)+len(p.Patch) > 0 {
		say("a job that is being deleted creates %d, deletes %d, updates %d objects", len(p.Create), len(p.Delete), len(p.Patch))
	}
	if slices.ContainsFunc(p.Patch, func(u Patch) bool { return u.Resource != schema.Jobs() }) {
		say("a job that is being deleted updates its dependents")
	}
	if slices.ContainsFunc(p.Delete, func(d Deletion) bool { return d.UID == o.Head.Meta.UID }) {
		say("a job is deleted twice")
	}
	if p.Ledger != nil && len(p.Ledger.Failed) > len(o.Head.Ledger.Failed) {
		say("a job that is being deleted records a restart")
	}
	if slices.Contains(o.Head.Meta.Finalizers, metav1.FinalizerOrphanDependents) && !reflect.DeepEqual(p, Plan{}) {
		say("the pods are to survive the job, and the plan is not empty")
	}
	hasBegun := len(o.Pods)+len(o.BatchJobs)+len(o.Head.Status.Conditions) > 0 || o.Head.Status.StartTime != nil || o.Head.Ledger.Terminal != ""
	if !hasBegun && !reflect.DeepEqual(p, Plan{}) {
		say("a job that has not begun is being deleted, and the plan is not empty")
	}
	return broken
}

// brokenDeletions: a deleted object exists, is deleted once, and is recorded if it is a failed pod. It is added to touched.
func brokenDeletions(o Observed, p Plan, touched map[string]bool) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	pods, services := childrenByName(o)
	for _, d := range p.Delete {
		key := d.Resource.Plural + "/" + d.Name
		if touched[key] {
			say("%s is deleted twice", key)
		}
		touched[key] = true
		switch d.Resource {
		case o.Head.Kind.Resource():
			if d.UID != o.Head.Meta.UID || d.ResourceVersion != o.Head.Meta.ResourceVersion {
				say("deletes the job at version %q, seen at %q", d.ResourceVersion, o.Head.Meta.ResourceVersion)
			}
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
	return broken
}

func childrenByName(o Observed) (pods map[string]training.Pod, services map[string]training.Service) {
	pods, services = map[string]training.Pod{}, map[string]training.Service{}
	for _, x := range o.Pods {
		pods[x.Name] = x
	}
	for _, x := range o.Services {
		services[x.Name] = x
	}
	return pods, services
}

// brokenCreations: a created object is wanted, does not exist, and is not deleted by the same plan.
func brokenCreations(o Observed, p Plan, touched map[string]bool) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	pods, services := childrenByName(o)
	wanted := map[string]bool{}
	if o.Job != nil {
		for _, r := range o.Job.ReplicaTypes {
			for i := range r.Replicas {
				wanted[r.Child(o.Head.Meta.Name, i)] = true
			}
		}
	}
	if o.Job != nil {
		if o.Head.Kind.Cluster.Gang.Native {
			wanted[o.Head.Meta.Name] = true
		}
		for _, e := range o.Job.DependentObjects(o.Priorities, nil) {
			wanted[cmp.Or(e.Name, o.Head.Meta.Name)] = true
		}
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
	return broken
}

// brokenEvents: an event is valid, is recent, and there is at most one with a key for each reason.
func brokenEvents(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	problems := map[string]bool{}
	for _, e := range p.Events {
		if e.Key != "" && (problems[e.Reason] || e.Count == nil || e.Count.Reason != e.Reason || e.Settle >= time.Second || training.PodProblemLabel(e.Reason) == "") {
			say("event of a key %+v", e)
		}
		if problems[e.Reason] = problems[e.Reason] || e.Key != ""; e.Key != "" && o.Job != nil && o.Job.Policy.Suspend && e.Reason != training.ReasonPodNotEnding {
			say("a suspended job reports its pods: %+v", e)
		}
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

// brokenFailures: a job that fails because of its replicas names one that failed, in the condition and in a ledger that is
// written together with it; and a ledger never loses a failure.
func brokenFailures(o Observed, p Plan) (broken []string) {
	if p.Ledger != nil && p.Ledger.LastFailure == nil && o.Head.Ledger.LastFailure != nil {
		broken = append(broken, fmt.Sprintf("the last failure %s is no longer on record", o.Head.Ledger.LastFailure))
	}
	if p.Status == nil || p.Status.Condition(training.Failed) == nil || terminal(&o.Head.Status) != "" || o.Head.Ledger.Terminal != "" || o.Rejection != nil {
		return broken
	}
	message := p.Status.Condition(training.Failed).Message
	if strings.Contains(message, "replica(s) failed") && !strings.Contains(message, " First: pod ") {
		broken = append(broken, "no pod is named in "+message)
	}
	if p.Ledger != nil && strings.Contains(message, " First: ") && (p.Ledger.LastFailure == nil || !strings.Contains(message, p.Ledger.LastFailure.String())) {
		broken = append(broken, fmt.Sprintf("on record is %s, and the message says %s", p.Ledger.LastFailure, message))
	}
	return broken
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

// brokenSuccesses: a recorded success was observed, and its pod is not created again unless it has failed.
func brokenSuccesses(o Observed, p Plan) (broken []string) {
	seen, failed := map[string]bool{}, map[string]bool{}
	for _, x := range o.Pods {
		seen[x.Name] = x.Phase == corev1.PodSucceeded && !x.Deleting
		failed[x.Name] = x.Phase == corev1.PodFailed
	}
	forgotten := o.Job != nil && o.Job.Policy.Suspend
	for _, rtype := range o.Head.Kind.ReplicaTypes {
		had := o.Head.Ledger.Succeeded[rtype.Label]
		for i := range 12 {
			name := rtype.Child(o.Head.Meta.Name, i)
			made := slices.ContainsFunc(p.Create, func(c schema.Object) bool { return c.Resource == schema.Pods() && c.Name == name })
			if had.Has(i) && made {
				broken = append(broken, "makes "+name+" again, which has succeeded")
			}
			if p.Ledger == nil || p.Ledger.Terminal != "" {
				continue
			}
			wanted := o.Job != nil && o.Job.ReplicaType(rtype.Name) != nil && i < o.Job.ReplicaType(rtype.Name).Replicas && !forgotten
			switch has := p.Ledger.Succeeded[rtype.Label].Has(i); {
			case has && (!wanted || failed[name] || !had.Has(i) && !seen[name]):
				broken = append(broken, name+" is put on record as succeeded, and was not seen to be, or is not asked for")
			case !has && wanted && (had.Has(i) && !failed[name] || seen[name]):
				broken = append(broken, name+" has succeeded and is left out of the record")
			}
		}
	}
	return broken
}

// brokenDependents: dependent objects are created before pods, and no pod before the dependents that it waits for.
func brokenDependents(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	type key struct {
		schema.Resource
		name string
	}
	stored := map[key]training.StoredDependent{}
	for _, e := range o.Dependents {
		stored[key{e.Resource, e.Name}] = e
	}
	unseen := func(r schema.Resource) bool {
		return slices.ContainsFunc(o.Unavailable, func(u training.Unavailable) bool { return u.Resource == r })
	}
	for _, u := range p.Patch {
		if e, ok := stored[key{u.Resource, u.Name}]; !ok || e.UID != u.UID || e.Deleting || !json.Valid(u.Body) || unseen(u.Resource) {
			say("updates %s %s, which is not there or on its way: %s", u.Resource.Kind, u.Name, u.Body)
		}
	}
	pods := 0
	for _, c := range p.Create {
		switch _, there := stored[key{c.Resource, c.Name}]; {
		case c.Resource == schema.Pods(), c.Resource == schema.Services():
			pods++
		case pods > 0:
			say("%s after pods", c.Resource.Kind)
		case there, unseen(c.Resource):
			say("creates %s %s, which is there or may be", c.Resource.Kind, c.Name)
		}
	}
	broken = append(broken, brokenNative(o, p, unseen)...)
	if gang := o.Head.Kind.Cluster.Gang; gang.On() && pods > 0 {
		group, ok := stored[key{gang.Resource(), o.Head.Meta.Name}]
		admitted := gang.Name() != "volcano" || group.Phase != "" && group.Phase != "Pending"
		if !ok || group.Deleting || unseen(gang.Resource()) || !admitted {
			say("creates pods before their group is there: %+v", group)
		}
	}
	return append(broken, brokenOrder(o, p)...)
}

// brokenOrder: no pod of a replica type is created before the replicas of the awaited type that the job needs run or have succeeded.
func brokenOrder(o Observed, p Plan) (broken []string) {
	if o.Job == nil {
		return nil
	}
	for i := range o.Job.ReplicaTypes {
		rtype := &o.Job.ReplicaTypes[i]
		awaited := o.Job.Awaited(rtype)
		if awaited == nil || !slices.ContainsFunc(p.Create, func(c schema.Object) bool {
			return c.Resource == schema.Pods() && c.Name == rtype.Child(o.Head.Meta.Name, 0)
		}) {
			continue
		}
		missing := 0
		for n := range awaited.Replicas {
			name := awaited.Child(o.Head.Meta.Name, n)
			ready := slices.ContainsFunc(o.Pods, func(x training.Pod) bool {
				return x.Name == name && !x.Deleting && (x.Phase == corev1.PodRunning || x.Phase == corev1.PodSucceeded)
			})
			if !ready && !o.Head.Ledger.Succeeded[awaited.Label].Has(n) {
				missing++
			}
		}
		if most := awaited.Replicas - awaited.Needed(); missing > most {
			broken = append(broken, fmt.Sprintf("%s is made while %d of %s do not run, more than %d", rtype.Name, missing, awaited.Name, most))
		}
	}
	return broken
}

// brokenStatus checks the rules of conditions.
func brokenStatus(o Observed, p Plan) (broken []string) {
	say := func(f string, a ...any) { broken = append(broken, fmt.Sprintf(f, a...)) }
	s := p.Status
	if s == nil {
		return nil
	}
	var seen []training.ConditionType
	for _, c := range s.Conditions {
		if slices.Contains(seen, c.Type) {
			say("two conditions %s", c.Type)
		}
		seen = append(seen, c.Type)
	}
	for i, c := range s.Conditions {
		_, note := splitNote(&c)
		isState := c.Status == metav1.ConditionTrue && !slices.ContainsFunc(s.Conditions[i+1:], func(next training.Condition) bool {
			return next.Status == metav1.ConditionTrue && isNoted(next.Type)
		})
		if note != "" && (!isState || s.Terminal() != "" || o.Rejection != nil) {
			say("condition %s, which is not the state of a job that waits, says %q", c.Type, note)
		}
		if len(note) > maxMessage || strings.ContainsAny(note, "\n\r") {
			say("note %q", note)
		}
	}
	if i := slices.Index(seen, training.Stalled); i > 0 {
		say("Stalled is not first: %v", seen)
	}
	if shown := shownByFlyte(s); shown == training.Stalled {
		say("a client that takes the newest condition for the state sees Stalled: %+v", s.Conditions)
	}
	if s.Is(training.Succeeded) && s.Is(training.Failed) {
		say("two terminal conditions")
	}
	if o.Rejection == nil {
		if s.Is(training.Running) && s.Is(training.Restarting) {
			say("Running and Restarting")
		}
		if len(seen) == 0 || !slices.Contains(seen, training.Created) {
			say("not created: %v", seen)
		}
		if s.Terminal() != "" && (s.Is(training.Running) || s.Is(training.Restarting) || s.CompletionTime == nil) {
			say("a terminal condition, and still running, restarting or without end")
		}
		if s.Terminal() == "" && s.CompletionTime != nil {
			say("an end and no terminal condition")
		}
		for rtype, counts := range s.ReplicaStatuses {
			if counts.Active != 0 && (s.Terminal() != "" || s.Is(training.Suspended)) {
				say("%s active", rtype)
			}
		}
	}
	read := tidy(o.Head.Status, metav1.NewTime(o.Now))
	if before := terminal(&read); before != "" && s.Terminal() != before {
		say("the terminal condition was %s and is %q", before, s.Terminal())
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

func TestInvariantsAreNotVacuous(t *testing.T) {
	w := newCluster()
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {}}
	o := w.observe()
	bad := Plan{
		Status: &training.Status{Conditions: []training.Condition{
			{Type: training.Running, Status: "True"}, {Type: training.Running, Status: "True"}, {Type: training.Restarting, Status: "True"},
			{Type: training.Stalled}, {Type: training.Succeeded, Status: "True"}, {Type: training.Failed, Status: "True"}},
			ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {Active: 1}}},
		Delete:  []Deletion{{Resource: schema.Pods(), Name: "a"}, {Resource: schema.Pods(), Name: "a"}},
		Create:  []schema.Object{{Resource: schema.Pods(), Name: "a", Body: []byte("{")}},
		Events:  []Event{{}},
		Requeue: -1,
	}
	if got := brokenRules(o, bad); len(got) < 11 {
		t.Errorf("only %d rules broken: %v", len(got), got)
	}
}

package mydeployment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller"
	"stoic/convert"
	"stoic/schema"
)

// atOnce and bytesAtOnce bound the pods that one reconcile creates, and their templates. The waits are the back-off of failed pods.
const atOnce, bytesAtOnce, firstWait, longestWait = 32, 4 << 20, 10 * time.Second, 5 * time.Minute

// Watches returns the Watch of MyDeployments.
func Watches() []controller.Watch {
	pods := &controller.Owned{Resource: schema.Pods(), Slim: convert.SlimPod(hashLabel), Reasons: controller.KubernetesReasons(),
		Claims: controller.SelectedBy(func(d *MyDeployment) *metav1.LabelSelector { return &d.Spec.Selector })}
	return []controller.Watch{controller.Typed(schema.Resource{Group: group, Version: "v1", Plural: "mydeployments", Kind: "MyDeployment"}, decide, []*controller.Owned{pods}, rules()...)}
}

type replica struct { // a pod that is not terminating, as one decision sees it
	schema.Child
	schema.Pod
	current, available, hoped bool // of the present template; ready for long enough; or an old one that may become so
}

type rollout struct { // one decision on a MyDeployment; README.md has its rules
	*MyDeployment
	o           controller.Observed
	plan        controller.Plan
	was, status *MyDeploymentStatus
	replicas    []replica          // of the present template, then of others; first those that are best deleted
	quarantined []schema.Candidate // of the present template, and not selected any more
	have, hoped int                // pods of the present template; pods that are available, or old and may become so
}

func decide(d *MyDeployment, o controller.Observed) controller.Plan {
	if o.Head.Meta.DeletionTimestamp != nil {
		return controller.Plan{Rule: "Deleting"} // garbage collection takes the pods
	}
	r := &rollout{MyDeployment: cmp.Or(d, &MyDeployment{Spec: MyDeploymentSpec{Hash: "unknown"}}), o: o, was: o.Head.Status.(*MyDeploymentStatus), status: &MyDeploymentStatus{}}
	var conditions []metav1.Condition
	if r.look(); d == nil {
		r.plan.Events = schema.RejectionEvents(o, schema.RejectedSince(o, r.was.Conditions, "Stalled"))
		why := schema.Summarize(o.Rejection.Problems, o.Rejection.More, "the pods stay as they are", "Edit the MyDeployment to retry.")
		conditions = []metav1.Condition{schema.When(false, "Progressing", "", "InvalidSpec", why), schema.When(true, "Stalled", "InvalidSpec", "", why)}
	} else {
		n := int(*d.Spec.Replicas)
		surge, unavailable := controller.RolloutBounds(n, *d.Spec.Strategy.MaxSurge, *d.Spec.Strategy.MaxUnavailable)
		r.add(n+surge, r.remove(n, n-unavailable))
		conditions = r.report(n, n-unavailable)
	}
	r.status.Conditions = schema.Conditions(r.was.Conditions, o.Head.Meta.Generation, o.Now, conditions...)
	r.plan.Status, r.plan.Rule, r.plan.Summary = r.status, conditions[0].Reason, conditions[0].Reason
	return r.plan
}

// look counts and sorts the pods.
func (r *rollout) look() {
	s, was, pods := r.status, r.was, slices.Clone(r.o.Of(schema.Pods()))
	*s = MyDeploymentStatus{ObservedGeneration: r.o.Head.Meta.Generation, Selector: was.Selector, LastProgressTime: was.LastProgressTime, Failures: max(was.Failures, 0), LastReplacementTime: was.LastReplacementTime}
	for _, c := range r.o.Children[0].Unclaimed {
		if p, _ := c.Object.(schema.Pod); p.Labels.Get(hashLabel) == r.Spec.Hash && !c.Deleting {
			r.quarantined = append(r.quarantined, c)
		} else {
			pods = append(pods, c.Child)
		}
	}
	for _, c := range slices.DeleteFunc(pods, func(c schema.Child) bool { return c.Deleting }) {
		p, _ := c.Object.(schema.Pod)
		wait := p.ReadySince.Add(time.Duration(r.Spec.MinReadySeconds) * time.Second).Sub(r.o.Now)
		v := replica{c, p, p.Labels.Get(hashLabel) == r.Spec.Hash, p.Ready && wait <= 0, false}
		v.hoped = v.available || !v.current && !p.Finished
		r.have, r.hoped, s.Replicas, s.ReadyReplicas = r.have+one(v.current), r.hoped+one(v.hoped), s.Replicas+int32(one(!p.Finished)), s.ReadyReplicas+int32(one(p.Ready))
		s.UpdatedReplicas, s.AvailableReplicas = s.UpdatedReplicas+int32(one(v.current && !p.Finished)), s.AvailableReplicas+int32(one(v.available))
		r.replicas = append(r.replicas, v)
		r.plan.LookAgain(wait) // of a pod that is not ready it is long past
	}
	slices.SortFunc(r.replicas, func(a, b replica) int {
		return cmp.Or(one(b.current)-one(a.current), one(b.Finished)-one(a.Finished), one(a.available)-one(b.available), b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
}

// remove deletes surplus and old pods while enough are left (least), and failed pods after a back-off. It returns how many are missing.
func (r *rollout) remove(n, least int) int {
	surplus, lost := r.have-n, []schema.Deletion(nil)
	for _, v := range r.replicas {
		if v.current && v.Finished && surplus <= 0 {
			lost = append(lost, v.Deletion(schema.Pods()))
		} else if v.current && surplus > 0 || !v.current && (!v.hoped || r.hoped > least) { // old pods that are not available come first
			r.plan.Delete = append(r.plan.Delete, v.Deletion(schema.Pods()))
			r.hoped, surplus = r.hoped-one(v.hoped), surplus-one(v.current)
		}
	}
	if wait, times := schema.BackOff(r.was.LastReplacementTime, r.was.Failures, r.o.Now, firstWait, longestWait); len(lost)+len(r.quarantined) > 0 && wait > 0 {
		r.plan.LookAgain(wait)
	} else if len(lost)+len(r.quarantined) > 0 {
		r.status.Failures, r.status.LastReplacementTime = times, &metav1.Time{Time: r.o.Now}
		r.plan.Delete = append(r.plan.Delete, lost...)
		for _, c := range r.quarantined {
			r.plan.Patch = append(r.plan.Patch, c.Release(schema.Pods(), r.o.Head))
		}
	}
	return n - r.have - len(r.quarantined)
}

// add adopts orphans and creates missing pods while there are fewer than most. The same view leads to the same names.
func (r *rollout) add(most, missing int) {
	room := most - len(r.o.Children[0].Items) - len(r.o.Children[0].Unclaimed)
	for _, c := range r.o.Children[0].Orphans {
		if p, _ := c.Object.(schema.Pod); !p.Finished && room > 0 {
			r.plan.Patch = append(r.plan.Patch, c.Adopt(schema.Pods(), r.o.Head))
			room, missing = room-1, missing-1
		}
	}
	for i, taken := 0, r.o.Taken(schema.Pods()); len(r.plan.Create) < min(missing, room, atOnce, bytesAtOnce/len(r.Spec.Stored)+1); i++ {
		if name := fmt.Sprintf("%s-%s-%d", r.Name, r.Spec.Hash, i); !taken[name] {
			r.plan.Create = append(r.plan.Create, schema.PodOf(r.o.Head, name, r.labels(), r.Spec.Stored))
		}
	}
}

// report returns the conditions, and records the time of the last progress of the roll-out.
func (r *rollout) report(n, least int) []metav1.Condition {
	s, was, before := r.status, r.was, schema.Condition(r.was.Conditions, "Progressing")
	s.Selector = metav1.FormatLabelSelector(&r.Spec.Selector)
	message := fmt.Sprintf("of %d pods %d are available and %d have the present template%s", n, s.AvailableReplicas, s.UpdatedReplicas, r.o.WhyRefused("; "))
	progressing := schema.When(true, "Progressing", "Complete", "", message)
	if int(s.UpdatedReplicas) != n || int(s.AvailableReplicas) != n || len(r.replicas)+len(r.quarantined) != n {
		closer := s.UpdatedReplicas > was.UpdatedReplicas || s.AvailableReplicas > was.AvailableReplicas || s.Replicas-s.UpdatedReplicas < was.Replicas-was.UpdatedReplicas
		if closer || before == nil || before.Reason == "Complete" || s.LastProgressTime == nil || s.LastProgressTime.After(r.o.Now) || s.ObservedGeneration != was.ObservedGeneration {
			s.LastProgressTime = &metav1.Time{Time: r.o.Now}
		}
		left := s.LastProgressTime.Add(time.Duration(*r.Spec.ProgressDeadlineSeconds) * time.Second).Sub(r.o.Now)
		r.plan.LookAgain(left)
		progressing = schema.When(left > 0, "Progressing", "Progressing", "ProgressDeadlineExceeded", message)
	}
	return []metav1.Condition{progressing, schema.When(false, "Stalled", "", "ValidSpec", ""),
		schema.When(int(s.AvailableReplicas) >= least, "Available", "MinimumReplicasAvailable", "MinimumReplicasUnavailable", fmt.Sprintf("%d must be available", least))}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

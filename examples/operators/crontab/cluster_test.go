package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"stoic/controller"
	"stoic/controller/schedule"
	"stoic/schema"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// cluster is a model of an API server with one CronTab, its Jobs and all former versions of them. Every write has preconditions.
type cluster struct {
	t        tester
	watch    controller.Watch
	versions []state // the last one is the present
	now      time.Time
	uids     int
	// started holds the UIDs of all Jobs that ever had pods, by the Unix times in their names; order has the times in order of start.
	started map[int64][]types.UID
	order   []time.Time
}

// state is the state at one version. It is never changed.
type state struct {
	tab  *unstructured.Unstructured
	jobs map[string]*unstructured.Unstructured
}

func newCluster(t tester, now time.Time, spec map[string]any) *cluster {
	tab := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "CronTab", "spec": spec, "metadata": map[string]any{
		"name": "tab", "namespace": "team", "uid": "t1", "generation": int64(1), "resourceVersion": "0", "creationTimestamp": now.UTC().Format(time.RFC3339)}}}
	return &cluster{t: t, watch: Watches()[0], now: now, started: map[int64][]types.UID{}, versions: []state{{tab, nil}}}
}

func (c *cluster) present() state { return c.versions[len(c.versions)-1] }

// change appends a changed copy of the current state as the next version.
func (c *cluster) change(by func(next *state)) {
	next := state{c.present().tab, maps.Clone(c.present().jobs)}
	if next.jobs == nil {
		next.jobs = map[string]*unstructured.Unstructured{}
	}
	by(&next)
	c.versions = append(c.versions, next)
}

func (c *cluster) version() string { return strconv.Itoa(len(c.versions)) }

// edit changes the CronTab and increments its generation.
func (c *cluster) edit(by func(tab map[string]any)) {
	c.change(func(next *state) {
		next.tab = next.tab.DeepCopy()
		by(next.tab.Object)
		next.tab.SetGeneration(next.tab.GetGeneration() + 1)
		next.tab.SetResourceVersion(c.version())
	})
}

// put changes a Job.
func (c *cluster) put(name string, by func(job *unstructured.Unstructured)) {
	c.change(func(next *state) {
		j := next.jobs[name].DeepCopy()
		by(j)
		j.SetResourceVersion(c.version())
		next.jobs[name] = j
	})
}

func (c *cluster) remove(name string) { c.change(func(next *state) { delete(next.jobs, name) }) }

// end ends a Job with a result.
func (c *cluster) end(name, result string) {
	c.put(name, func(j *unstructured.Unstructured) {
		j.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": result, "status": "True", "lastTransitionTime": c.now.UTC().Format(time.RFC3339)}}}
	})
}

// running returns the names of Jobs that have pods and are not over.
func (c *cluster) running() (names []string) {
	for name, u := range c.present().jobs {
		if j, _ := controller.SlimJob(u).(controller.Job); j.Result == "" && j.Parallelism > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// leader is a process that believes that it leads. It may see an old version of the CronTab, and another one of the Jobs, but
// never one older than it has seen before or has written itself.
type leader struct {
	*cluster
	tab, jobs int           // versions that it has seen at least
	skew      time.Duration // of its clock
}

// see returns the given versions, but none older than the leader has seen already.
func (l *leader) see(tab, jobs int) (*unstructured.Unstructured, []*unstructured.Unstructured) {
	l.tab, l.jobs = max(l.tab, min(tab, len(l.versions)-1)), max(l.jobs, min(jobs, len(l.versions)-1))
	return l.versions[l.tab].tab, slices.Collect(maps.Values(l.versions[l.jobs].jobs))
}

// reconcile reconciles on these versions, and executes at most the given number of writes of the plan, in order. It reports
// whether there was nothing to write, and returns the plan.
func (l *leader) reconcile(tab, jobs, writes int) (settled bool, plan schema.Plan) {
	object, children := l.see(tab, jobs)
	seen := observe(l.watch, object, children, l.now.Add(l.skew))
	plan = l.watch.Decide(seen)
	if len(plan.AddFinalizers)+len(plan.RemoveFinalizers) > 0 || plan.Annotate != nil {
		l.t.Fatalf("unexpected writes: %+v", plan)
	}
	settled = plan.Status == nil && len(plan.Delete)+len(plan.Patch)+len(plan.Create) == 0
	alive := func() bool { writes--; return writes >= 0 }
	if plan.Status != nil {
		if !alive() || l.present().tab.GetResourceVersion() != object.GetResourceVersion() {
			return settled, plan // it has crashed, or there is a conflict
		}
		raw := map[string]any{}
		if err := kjson.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
			l.t.Fatal(err)
		}
		l.record(object, raw)
		l.change(func(next *state) {
			next.tab = next.tab.DeepCopy()
			next.tab.Object["status"] = raw
			next.tab.SetResourceVersion(l.version())
		})
		l.tab = len(l.versions) - 1
	}
	for _, d := range plan.Delete {
		if !alive() {
			return settled, plan
		}
		if j := l.present().jobs[d.Name]; j != nil && j.GetUID() == d.UID {
			l.remove(d.Name)
		}
		l.jobs = len(l.versions) - 1
	}
	for _, p := range plan.Patch {
		if !alive() {
			return settled, plan
		}
		l.patch(p)
	}
	for _, o := range plan.Create {
		if !alive() {
			return settled, plan
		}
		l.create(o)
	}
	return settled, plan
}

// record checks a promise: when a run is recorded, which starts it, its deadline has not passed.
func (l *leader) record(tab *unstructured.Unstructured, status map[string]any) {
	last := func(status any) (at time.Time) {
		m, _ := status.(map[string]any)
		text, _ := m["lastScheduleTime"].(string)
		at, _ = time.Parse(time.RFC3339, text)
		return at
	}
	deadline, ok, _ := unstructured.NestedInt64(tab.Object, "spec", "startingDeadlineSeconds")
	was, is := last(tab.Object["status"]), last(status)
	if late := l.now.Add(l.skew).Sub(is); ok && is.After(was) && int64(late/time.Second) >= deadline {
		l.t.Fatalf("the run of %v is started %v later, the deadline is %d s", is, late, deadline)
	}
}

func (l *leader) patch(p schema.Patch) {
	j := l.present().jobs[p.Name]
	if j == nil || j.GetUID() != p.UID || j.GetResourceVersion() != p.ResourceVersion {
		return // a conflict
	}
	var body struct {
		Spec struct {
			Parallelism int64 `json:"parallelism"`
		} `json:"spec"`
	}
	if err := kjson.Unmarshal(p.Body, &body); err != nil {
		l.t.Fatal(err)
	}
	l.put(p.Name, func(j *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(j.Object, body.Spec.Parallelism, "spec", "parallelism"); err != nil {
			l.t.Fatal(err)
		}
	})
	l.jobs = len(l.versions) - 1
	if body.Spec.Parallelism > 0 {
		l.start(j)
	}
}

// start checks a promise: no time is run twice, and none after a later one.
func (l *leader) start(j *unstructured.Unstructured) {
	at := schedule.TimeOf("tab", j.GetName())
	was, last := l.started[at.Unix()], time.Time{}
	if len(l.order) > 0 {
		last = l.order[len(l.order)-1]
	}
	if len(was) > 0 || !at.After(last) {
		l.t.Fatalf("%s is started as %s; before, there were %v, the last was that of %v", j.GetName(), j.GetUID(), was, last)
	}
	l.order = append(l.order, at)
	l.started[at.Unix()] = append(was, j.GetUID())
}

func (l *leader) create(o schema.Object) {
	defer func() { l.jobs = len(l.versions) - 1 }()
	if l.present().jobs[o.Name] != nil {
		return // it exists, and is ours
	}
	if at := schedule.TimeOf("tab", o.Name); at.After(l.now.Add(l.skew)) {
		l.t.Fatalf("%s is made at %v", o.Name, l.now.Add(l.skew))
	}
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(o.Body, &u.Object); err != nil {
		l.t.Fatal(err)
	}
	l.uids++
	u.SetUID(types.UID(fmt.Sprint("j", l.uids)))
	u.SetCreationTimestamp(metav1.NewTime(l.now))
	l.change(func(next *state) {
		u.SetResourceVersion(l.version())
		next.jobs[o.Name] = u
	})
}

// settle reconciles on the present until there is nothing to write, and returns the last plan.
func (l *leader) settle() schema.Plan {
	for range 12 {
		if settled, plan := l.reconcile(len(l.versions), len(l.versions), 1000); settled {
			return plan
		}
	}
	l.t.Fatalf("no end of writes: %v", l.present())
	return schema.Plan{}
}

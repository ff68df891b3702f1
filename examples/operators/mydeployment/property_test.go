package mydeployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"stoic/controller"
	"stoic/schema"
)

// cluster holds one MyDeployment and the pods of its namespace.
type cluster struct {
	t        *rapid.T
	watch    controller.Watch
	object   *unstructured.Unstructured
	pods     map[string]*unstructured.Unstructured
	now      time.Time
	versions int
	writes   int // made so far by plans
	crash    int // no further write of the plan is made once writes reaches it
	// past holds the pods at each time; no view is older than seen, as caches are never older than the operator's own writes.
	past    []map[string]*unstructured.Unstructured
	seen    int
	refused []schema.Refusal
	// replaced is when failed pods of the current template were last replaced, if no status was edited since.
	replaced time.Time
}

// changed appends the current pods to past.
func (c *cluster) changed() {
	now := map[string]*unstructured.Unstructured{}
	for name, p := range c.pods {
		now[name] = p.DeepCopy()
	}
	c.past = append(c.past, now)
}

func (c *cluster) version(u *unstructured.Unstructured) {
	c.versions++
	u.SetResourceVersion(fmt.Sprint(c.versions))
}

// write counts a write, and reports whether it is executed, as the process has not crashed yet.
func (c *cluster) write() bool {
	if c.writes >= c.crash {
		return false
	}
	c.writes++
	return true
}

func ownerOf(u *unstructured.Unstructured) types.UID {
	if o := metav1.GetControllerOfNoCopy(u); o != nil {
		return o.UID
	}
	return ""
}

// owned counts the pods that the object controls, terminating ones too.
func (c *cluster) owned() (n int) {
	for _, p := range c.pods {
		if ownerOf(p) == c.object.GetUID() {
			n++
		}
	}
	return n
}

// reconcile decides on a view of the pods and executes the plan in the order of its fields, up to the crash. It reports whether
// there was nothing to write.
func (c *cluster) reconcile(view map[string]*unstructured.Unstructured) (settled bool) {
	seen := observe(c.watch, c.object, slices.Collect(maps.Values(view)), c.now)
	seen.Refused = c.refused
	plan := c.watch.Decide(seen)
	slices.Reverse(seen.Children[0].Items)
	if d := diff.Diff(plan, c.watch.Decide(seen)); d != "" {
		c.t.Fatalf("two plans for one view: %s", d)
	}
	defer c.changed()
	if seen.Rejection != nil && len(plan.Delete)+len(plan.Patch)+len(plan.Create) > 0 {
		c.t.Fatalf("malformed, and writes to pods: %+v", plan)
	}
	if plan.Status != nil {
		if !c.write() {
			return false
		}
		raw := map[string]any{}
		if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
			c.t.Fatal(err)
		}
		c.object.Object["status"] = raw
	}
	if d, ok := seen.Object.(*MyDeployment); ok {
		c.carryOut(d, view, plan)
	}
	return plan.Status == nil && len(plan.Delete)+len(plan.Patch)+len(plan.Create) == 0
}

func (c *cluster) carryOut(d *MyDeployment, view map[string]*unstructured.Unstructured, plan schema.Plan) {
	n := int(*d.Spec.Replicas)
	surge, unavailable := controller.RolloutBounds(n, *d.Spec.Strategy.MaxSurge, *d.Spec.Strategy.MaxUnavailable)
	available := 0
	for _, p := range view {
		available += one(c.isAvailable(d, p))
	}
	lost := false
	for _, deletion := range plan.Delete {
		if !c.write() {
			return
		}
		then, p := view[deletion.Name], c.pods[deletion.Name]
		if then == nil || then.GetUID() != deletion.UID || ownerOf(then) != c.object.GetUID() {
			c.t.Fatalf("deletes %s, which is not one of its own", deletion.Name)
		}
		if c.isAvailable(d, then) {
			if available--; available < n-unavailable {
				c.t.Fatalf("deletes %s and leaves %d available, least are %d", deletion.Name, available, n-unavailable)
			}
		}
		lost = lost || then.GetLabels()[hashLabel] == d.Spec.Hash && then.Object["status"].(map[string]any)["phase"] == "Failed" && !surplus(d, view, c.object.GetUID())
		if p != nil && p.GetUID() == deletion.UID {
			at := metav1.NewTime(c.now)
			p.SetDeletionTimestamp(&at)
			c.version(p)
		}
		c.seen = len(c.past)
	}
	for _, patch := range plan.Patch {
		if !c.write() {
			return
		}
		c.change(patch)
	}
	for _, o := range plan.Create {
		if !c.write() {
			return
		}
		c.create(o)
	}
	if total := c.owned(); len(plan.Create) > 0 && total > n+surge {
		c.t.Fatalf("%d pods exist, most are %d", total, n+surge)
	}
	if lost {
		if wait := c.now.Sub(c.replaced); !c.replaced.IsZero() && wait < firstWait {
			c.t.Fatalf("replaces failed pods again after %s", wait)
		}
		c.replaced = c.now
	}
	if len(plan.Create) > atOnce {
		c.t.Fatalf("creates %d pods at once", len(plan.Create))
	}
}

// surplus reports whether there are more pods of the current template than wanted.
func surplus(d *MyDeployment, view map[string]*unstructured.Unstructured, uid types.UID) bool {
	have := 0
	for _, p := range view {
		have += one(ownerOf(p) == uid && p.GetDeletionTimestamp() == nil && p.GetLabels()[hashLabel] == d.Spec.Hash && selects(d, p))
	}
	return have > int(*d.Spec.Replicas)
}

// selects reports whether the object's selector matches the pod.
func selects(d *MyDeployment, p *unstructured.Unstructured) bool {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	return err == nil && selector.Matches(labelsOf(p))
}

// isAvailable reports whether the pod belongs to the object, is not terminating, and has been ready for long enough.
func (c *cluster) isAvailable(d *MyDeployment, p *unstructured.Unstructured) bool {
	seen := c.watch.Owns[0].Slim(p).(schema.Pod)
	current := seen.Labels.Get(hashLabel) == d.Spec.Hash
	return ownerOf(p) == c.object.GetUID() && p.GetDeletionTimestamp() == nil && seen.Ready && (!current || selects(d, p)) &&
		!c.now.Before(seen.ReadySince.Add(time.Duration(d.Spec.MinReadySeconds)*time.Second))
}

// change adopts or releases a pod, if its UID and resourceVersion match.
func (c *cluster) change(patch schema.Patch) {
	p := c.pods[patch.Name]
	if p == nil || p.GetResourceVersion() != patch.ResourceVersion || p.GetUID() != patch.UID {
		return // a conflict
	}
	if owner := ownerOf(p); owner != "" && owner != c.object.GetUID() {
		c.t.Fatalf("writes to %s, which belongs to somebody else", patch.Name)
	}
	var body struct {
		Metadata struct{ OwnerReferences []metav1.OwnerReference }
	}
	if err := json.Unmarshal(patch.Body, &body); err != nil {
		c.t.Fatal(err)
	}
	p.SetOwnerReferences(body.Metadata.OwnerReferences)
	c.version(p)
	c.seen = len(c.past)
}

func (c *cluster) create(o schema.Object) {
	if p := c.pods[o.Name]; p != nil {
		if ownerOf(p) != c.object.GetUID() {
			c.refused = append(c.refused, schema.Refusal{Resource: schema.Pods(), Namespace: o.Namespace, Name: o.Name, Cause: schema.CauseNameTaken})
		}
		return
	}
	if len(o.Name) > 63 {
		c.t.Fatalf("creates %s", o.Name)
	}
	p := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Body, &p.Object); err != nil {
		c.t.Fatal(err)
	}
	p.Object["status"] = map[string]any{"phase": "Pending"}
	c.put(p)
	c.seen = len(c.past)
}

func (c *cluster) put(p *unstructured.Unstructured) {
	c.version(p)
	p.SetUID(types.UID("p" + p.GetResourceVersion()))
	p.SetCreationTimestamp(metav1.NewTime(c.now))
	c.pods[p.GetName()] = p
}

// phase sets the status of a pod like a kubelet.
func (c *cluster) phase(p *unstructured.Unstructured, phase string, ready bool) {
	status := map[string]any{"phase": phase}
	if ready {
		status["conditions"] = []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": c.now.Format(time.RFC3339)}}
	}
	p.Object["status"] = status
	c.version(p)
}

// edit changes the spec like a user.
func (c *cluster) edit(change func(spec map[string]any)) {
	spec, _ := c.object.Object["spec"].(map[string]any)
	change(spec)
	c.object.SetGeneration(c.object.GetGeneration() + 1)
}

func template(image any) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}}
}

// someone draws a pod that is, or is not, terminating; nil if there is none.
func (c *cluster) someone(terminating bool) *unstructured.Unstructured {
	var names []string
	for name, p := range c.pods {
		if (p.GetDeletionTimestamp() != nil) == terminating {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return nil
	}
	return c.pods[rapid.SampledFrom(names).Draw(c.t, "pod")]
}

// step draws one action of a user, a kubelet or the operator.
func (c *cluster) step() {
	t := c.t
	switch step := rapid.IntRange(0, 31).Draw(t, "step"); step {
	case 0:
		c.edit(func(spec map[string]any) {
			spec["template"] = template(rapid.SampledFrom([]any{"a", "b", "a", "b", "c", "a", "b", int64(7)}).Draw(t, "image"))
		})
	case 1:
		c.edit(func(spec map[string]any) { spec["replicas"] = int64(rapid.IntRange(0, 4).Draw(t, "replicas")) })
	case 2:
		c.edit(func(spec map[string]any) { spec["strategy"] = c.strategy() })
	case 3:
		c.edit(func(spec map[string]any) {
			spec["minReadySeconds"] = rapid.SampledFrom([]any{int64(0), int64(0), int64(0), int64(30), int64(30), "odd"}).Draw(t, "min ready")
		})
	case 4:
		c.object.Object["status"] = rapid.SampledFrom([]any{nil, int64(7), map[string]any{"failures": int64(9), "lastReplacementTime": "9999-01-01T00:00:00Z", "replicas": int64(-1)}}).Draw(t, "status")
		c.replaced = time.Time{}
	case 5:
		p := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Pending"}}}
		p.SetName(rapid.SampledFrom([]string{"x", "y", "web-" + hashOf("a") + "-0"}).Draw(t, "name"))
		p.SetLabels(map[string]string{"app": "web"})
		if rapid.Bool().Draw(t, "foreign") {
			yes := true
			p.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Other", UID: "other", Controller: &yes}})
		}
		if c.pods[p.GetName()] == nil {
			c.put(p)
		}
	case 15, 16, 17:
		for _, p := range c.pods {
			if ownerOf(p) != "other" && p.GetDeletionTimestamp() == nil && !c.watch.Owns[0].Slim(p).(schema.Pod).Finished && !c.watch.Owns[0].Slim(p).(schema.Pod).Ready {
				c.phase(p, "Running", true)
			}
		}
	case 6, 7, 8, 9, 10, 11:
		if p := c.someone(false); p != nil {
			switch step {
			case 6:
				c.phase(p, "Failed", false)
			case 7:
				c.phase(p, "Running", false)
			case 8:
				at := metav1.NewTime(c.now)
				p.SetDeletionTimestamp(&at)
				c.version(p)
			case 9:
				p.SetLabels(map[string]string{"app": "debug", hashLabel: p.GetLabels()[hashLabel]})
				c.version(p)
			default:
				c.phase(p, "Running", true)
			}
		}
	case 12, 13:
		if p := c.someone(true); p != nil {
			delete(c.pods, p.GetName())
		}
	case 14:
		c.now = c.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 20, 30, 700}).Draw(t, "seconds")) * time.Second)
	default:
		c.crash = c.writes + rapid.SampledFrom([]int{100, 100, 100, 100, 0, 1, 2, 3, 4}).Draw(t, "crash after")
		c.reconcile(c.past[rapid.IntRange(min(c.seen, len(c.past)-1), len(c.past)-1).Draw(t, "view")])
		if c.writes == c.crash { // a new process reads what there is
			c.seen = len(c.past)
		}
	}
	c.changed()
}

func (c *cluster) strategy() any {
	return map[string]any{"maxSurge": rapid.SampledFrom([]any{int64(0), int64(1), int64(2), "50%"}).Draw(c.t, "surge"),
		"maxUnavailable": rapid.SampledFrom([]any{int64(0), int64(1), "50%"}).Draw(c.t, "unavailable")}
}

func hashOf(image any) string {
	d := &MyDeployment{}
	store(d, schema.JSON(template(image)))
	return d.Spec.Hash
}

// settle reconciles on the current pods while kubelets work, until there is nothing to write.
func (c *cluster) settle() {
	c.crash = 1 << 30
	for range 200 {
		for name, p := range c.pods {
			switch {
			case p.GetDeletionTimestamp() != nil:
				delete(c.pods, name)
			case ownerOf(p) != "" && ownerOf(p) != c.object.GetUID() && ownerOf(p) != "other":
				delete(c.pods, name) // garbage
			case !strings.Contains(fmt.Sprint(p.Object["status"]), "Failed") && !c.watch.Owns[0].Slim(p).(schema.Pod).Ready:
				c.phase(p, "Running", true)
			}
		}
		c.now = c.now.Add(20 * time.Second)
		c.changed()
		terminating := slices.ContainsFunc(slices.Collect(maps.Values(c.pods)), func(p *unstructured.Unstructured) bool { return p.GetDeletionTimestamp() != nil })
		if c.reconcile(c.past[len(c.past)-1]) && !terminating && c.isComplete() {
			return
		}
	}
	c.t.Fatalf("no end: %s, %v", schema.JSON(c.object.Object), slices.Sorted(maps.Keys(c.pods)))
}

func (c *cluster) isComplete() bool {
	status, _ := c.object.Object["status"].(map[string]any)
	return strings.Contains(fmt.Sprint(status["conditions"]), "reason:Complete")
}

// TestWhateverHappens draws a history of edits, of pods that become ready late, linger, fail, lose a label or are foreign, of lagging
// caches, and of crashes between any two writes. At every write there are at most as many pods, and in the view of the decision at
// least as many available ones, as the strategy allows. At the end exactly the wanted pods exist, also after a deletion and a
// recreation with the same name.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cluster{t: t, watch: Watches()[0], pods: map[string]*unstructured.Unstructured{}, now: clock()}
		c.object = &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "MyDeployment",
			"metadata": map[string]any{"name": "web", "namespace": "team", "uid": "d1", "generation": int64(1), "resourceVersion": "1"},
			"spec":     map[string]any{"replicas": int64(3), "minReadySeconds": int64(rapid.SampledFrom([]int{0, 30}).Draw(t, "min ready")), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("a"), "strategy": c.strategy()}}}
		c.changed()
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			c.step()
		}
		for _, uid := range []types.UID{"d1", "d2"} {
			if c.object.GetUID() != uid {
				c.object.SetUID(uid)
				delete(c.object.Object, "status")
				c.replaced, c.refused = time.Time{}, nil
			}
			c.edit(func(spec map[string]any) {
				spec["template"], spec["minReadySeconds"] = template("d"), int64(5)
				if check := c.watch.Convert(c.object); check.Rejection != nil {
					spec["strategy"] = map[string]any{"maxSurge": int64(1)}
				}
			})
			c.settle()
			want, _, _ := unstructured.NestedInt64(c.object.Object, "spec", "replicas")
			ready := 0
			for _, p := range c.pods {
				ready += one(ownerOf(p) == uid && p.GetLabels()[hashLabel] == hashOf("d") && c.watch.Owns[0].Slim(p).(schema.Pod).Ready)
			}
			if ready != int(want) || c.owned() != int(want) {
				t.Fatalf("%d pods, %d of them ready, want %d", c.owned(), ready, want)
			}
		}
	})
}

func labelsOf(p *unstructured.Unstructured) labels.Set { return p.GetLabels() }

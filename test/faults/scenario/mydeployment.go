package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/examples/operators/mydeployment"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// myDeployments returns the operator of examples/operators/mydeployment.
func myDeployments() *Operator {
	const deploy = "examples/operators/mydeployment/deploy/"
	return &Operator{Name: "mydeployment", Package: "./examples/operators/mydeployment/cmd",
		Args: []string{"--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "{flags}"},
		User: "system:serviceaccount:mydeployment-system:mydeployment-operator", Permissions: []string{deploy + "namespace.yaml", deploy + "rbac.yaml"},
		// Its schema accepts anything: a malformed MyDeployment must reach the operator.
		CRDs:     []string{"test/fixtures/mydeployments-open.yaml"},
		Resource: schema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "mydeployments"}, Dependents: []schema.GroupVersionResource{core("pods")},
		Rules: oracle.Rules{Settled: myDeploymentSettled, Restores: isComplete, Status: myDeploymentStatus, Owner: history.Owner, Adopts: true,
			Writes: func(reference int) int { return 2*reference + 10 }, Always: []func(*oracle.Case) []string{neverTooMany, neverTooFew}},
		Statuses: map[string]any{
			"nothing at all":         nil,
			"no conditions":          map[string]any{"conditions": []any{}},
			"a condition of its own": map[string]any{"conditions": []any{map[string]any{"type": "Weather", "status": "Unknown"}}},
			"a future generation":    map[string]any{"observedGeneration": 77},
			"counts of a million":    map[string]any{"replicas": 1000000, "availableReplicas": -5},
			"another selector":       map[string]any{"selector": "app=other"},
			"failures to come":       map[string]any{"failures": 9, "lastReplacementTime": "2199-01-01T00:00:00Z", "lastProgressTime": "2199-01-01T00:00:00Z"},
			"conditions of a string": map[string]any{"conditions": "none"},
		},
		Goals: []string{"G1", "G3", "G4", "G6", "G11", "G14", "G18"}, Share: 4, Basics: true, Scenarios: myDeploymentScenarios(), Watches: mydeployment.Watches,
	}
}

func myDeploymentScenarios() []Scenario {
	const path = "spec.template.spec.containers[0].resources.limits.cpu"
	image := func(image, more string) string {
		return fmt.Sprintf(`{"spec":{"template":{"spec":{%s"containers":[{"name":"c","image":%q}]}}}}`, more, image)
	}
	malformed := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"v2","resources":{"limits":{"cpu":"1e1.5"}}}]}}}}`
	again := Scenario{Name: "mydeployment-recreated", Writes: 17, Manifest: myDeployment("1", "0"), End: complete("v1", 2, 0)}
	adopted := Scenario{Name: "mydeployment-adopted", Writes: 13, Manifest: myDeployment("1", "0"), End: complete("v1", 2, 1)}
	once, left := again, adopted
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, complete("v1", 2, 1)), anew(once)}
	adopted.Steps = []Step{drop(metav1.DeletePropagationOrphan, complete("v1", 2, 1)), anew(left)}
	// Writes: the creation and deletion of each pod, and a status for each pod that is created, ready or deleted, unless several
	// are observed together. The numbers are a third above the counted ones.
	return []Scenario{
		{Name: "mydeployment-created", Writes: 7, Manifest: myDeployment("1", "0"), End: complete("v1", 2, 1)},
		{Name: "mydeployment-rolled-out", Writes: 18, Manifest: myDeployment("1", "0"),
			Steps: []Step{edit("another image", complete("v1", 2, 1), image("v2", ""))}, End: complete("v2", 2, 1)},
		{Name: "mydeployment-replaced", Writes: 19, Manifest: myDeployment("0", "1"),
			Steps: []Step{edit("another image", complete("v1", 2, 1), image("v2", ""))}, End: complete("v2", 2, 1)},
		// The second edit is made when a pod of the first one exists, which will never be ready. There are two of them if another
		// client has taken a pod of v1 and has given it back.
		{Name: "mydeployment-half-way", Writes: 26, Manifest: myDeployment("1", "0"),
			Steps: []Step{edit("another image", complete("v1", 2, 1), image("v2", `"nodeSelector":{"no":"where"},`)),
				edit("a third image", all(either(podsWith("v2", 1), podsWith("v2", 2)), podsWith("v1", 2)), image("v3", `"nodeSelector":null,`))}, End: complete("v3", 2, 1)},
		// A pod of v1 fails while that of v2 is not ready. One pod is available, which is fewer than required, so it stays until
		// others are. The next edit is made when another pod of v2 has replaced the failed one, as happens in all runs.
		{Name: "mydeployment-rolled-out-failing", Writes: 32, Manifest: myDeployment("1", "0"),
			Steps: []Step{edit("another image", complete("v1", 2, 1), image("v2", `"nodeSelector":{"no":"where"},`)),
				oldPodFails("v1", 2, all(either(podsWith("v2", 1), podsWith("v2", 2)), podsWith("v1", 2))),
				edit("a third image", all(podsWith("v2", 2), podsWith("v1", 1)), image("v3", `"nodeSelector":null,`))}, End: complete("v3", 2, 1)},
		{Name: "mydeployment-scaled", Writes: 20, Manifest: myDeployment("1", "0"),
			Steps: []Step{edit("to 0", complete("v1", 2, 1), `{"spec":{"replicas":0}}`), edit("and back", complete("v1", 0, 0), `{"spec":{"replicas":2}}`)}, End: complete("v1", 2, 0)},
		adopted,
		// The failed pod must be deleted first: it counts, so there is no room for one more under another name.
		{Name: "mydeployment-failed", Writes: 14, Manifest: myDeployment("0", "1"), Steps: []Step{podFails(complete("v1", 2, 1))}, End: complete("v1", 2, 0)},
		{Name: "mydeployment-repaired", Writes: 21, Paths: []string{path}, Manifest: myDeployment("1", "0"),
			Steps: []Step{spoil(complete("v1", 2, 1), malformed), edit("repair", all(was("Stalled"), reported(path), podsWith("v1", 2)), image("v3", ""))}, End: complete("v3", 2, 1)},
		{Name: "mydeployment-malformed", Writes: 9, Paths: []string{path}, Manifest: myDeployment("1", "0"),
			Steps: []Step{spoil(complete("v1", 2, 1), malformed)}, End: all(was("Stalled"), reported(path), podsWith("v1", 2))},
		again,
	}
}

// myDeployment returns a manifest. The labels are the same in all runs: the names of pods contain the hash of the template.
func myDeployment(surge, unavailable string) func(string) string {
	return func(name string) string {
		return fmt.Sprintf(`{apiVersion: apps.example.com/v1, kind: MyDeployment, metadata: {name: %s}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, strategy: {maxSurge: %s, maxUnavailable: %s},
			template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: v1}]}}}}`, name, surge, unavailable)
	}
}

// imageOf returns the image of a pod.
func imageOf(pod *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, c := range containers {
		if m, ok := c.(map[string]any); ok {
			return fmt.Sprint(m["image"])
		}
	}
	return ""
}

// podsWith: so many pods with an image exist that are not being deleted.
func podsWith(image string, n int) Check {
	return func(v history.View) (bool, string) {
		found := 0
		for _, p := range v.Pods {
			if imageOf(p) == image && p.GetDeletionTimestamp() == nil {
				found++
			}
		}
		return found == n, fmt.Sprintf("want %d pods of %s; %s", n, image, describe(v))
	}
}

// complete: the status is of the current spec and says that the roll-out is complete. So many running pods of that image exist,
// each the n-th of its name (0 is any), and no others.
func complete(image string, n, incarnation int) Check {
	return func(v history.View) (bool, string) {
		ok := isComplete(v.Job) && len(v.Pods) == n
		for _, p := range v.Pods {
			ok = ok && runs(p) && imageOf(p) == image && history.Owner(p) == v.Job.GetUID() && (incarnation == 0 || v.Incarnations[p.GetUID()] == incarnation)
		}
		return ok, fmt.Sprintf("want it complete with %d pods of %s; %s", n, image, describe(v))
	}
}

// isComplete: the status says that the roll-out of the current spec has ended.
func isComplete(u *unstructured.Unstructured) bool {
	return observed(u) && slices.ContainsFunc(history.Conditions(u), func(c history.Condition) bool { return c.Type == "Progressing" && c.Reason == "Complete" })
}

func myDeploymentSettled(u *unstructured.Unstructured) bool {
	return isComplete(u) || observed(u) && history.Is(u, "Stalled")
}

// myDeploymentStatus returns the whole status except times, what failed on the way, and the wording of conditions.
func myDeploymentStatus(u *unstructured.Unstructured) map[string]any {
	found := map[string]any{"observed": observed(u)}
	for _, field := range []string{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "selector"} {
		found[field], _, _ = unstructured.NestedFieldCopy(u.Object, "status", field)
	}
	var conditions []string
	for _, c := range history.Conditions(u) {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
	}
	found["conditions"] = strings.Join(conditions, ", ")
	return found
}

// podFails is a kubelet's step: the first pod fails.
func podFails(when Check) Step {
	failed := func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Pods, func(p *unstructured.Unstructured) bool { return ended(p) || v.Incarnations[p.GetUID()] > 1 }), describe(v)
	}
	return Step{Name: "a pod fails", When: either(failed, when), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := failed(view); done || len(view.Pods) == 0 {
			return nil
		}
		return a.conclude(ctx, view.Pods[0], 1)
	}}
}

// oldPodFails is a kubelet's step: one of n running pods of an image fails, if none has failed or is being deleted.
func oldPodFails(image string, n int, when Check) Step {
	running := func(p *unstructured.Unstructured) bool { return imageOf(p) == image && runs(p) }
	failed := func(v history.View) (bool, string) {
		return len(slices.DeleteFunc(slices.Clone(v.Pods), func(p *unstructured.Unstructured) bool { return !running(p) })) < n, describe(v)
	}
	return Step{Name: "a pod of " + image + " fails", When: either(failed, when), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := failed(view); done {
			return nil
		}
		return a.conclude(ctx, view.Pods[slices.IndexFunc(view.Pods, running)], 1)
	}}
}

// allowed returns how many pods a spec allows, and how many must be available; known is false for a malformed spec.
func allowed(u *unstructured.Unstructured) (most, least int64, known bool) {
	n, ok1, err1 := unstructured.NestedInt64(u.Object, "spec", "replicas")
	surge, ok2, err2 := unstructured.NestedInt64(u.Object, "spec", "strategy", "maxSurge")
	unavailable, ok3, err3 := unstructured.NestedInt64(u.Object, "spec", "strategy", "maxUnavailable")
	return n + surge, n - unavailable, ok1 && ok2 && ok3 && err1 == nil && err2 == nil && err3 == nil
}

// podsAt has the pods of one MyDeployment at a version, and what its last two specs allow: a decision may rest on the former one.
type podsAt struct {
	pods        map[types.UID]*unstructured.Unstructured
	given       map[types.UID]time.Time // when others took a pod from another owner and gave it to this one: the operator never does
	most, least []int64
}

// known counts the pods that an operator acting at a time can know of.
func (p podsAt) known(at time.Time, notice time.Duration) (n int) {
	for uid := range p.pods {
		if given, ok := p.given[uid]; !ok || at.Sub(given) > notice {
			n++
		}
	}
	return n
}

// eachVersion calls a rule at every version of a pod, with what existed just before it; first reports whether the pod is new.
func eachVersion(c *oracle.Case, rule func(before podsAt, owner types.UID, v history.Version, first bool) string) (found []string) {
	all, seen := map[types.UID]*podsAt{}, map[types.UID]bool{}
	of := func(uid types.UID) *podsAt {
		if all[uid] == nil {
			all[uid] = &podsAt{pods: map[types.UID]*unstructured.Unstructured{}, given: map[types.UID]time.Time{}}
		}
		return all[uid]
	}
	for _, v := range c.Versions {
		uid := v.Object.GetUID()
		if c.Is(v) {
			if most, least, known := allowed(v.Object); known && v.Type != watch.Deleted {
				at := of(uid)
				at.most, at.least = append(at.most, most), append(at.least, least)
			}
			continue
		}
		if v.Resource != core("pods") {
			continue
		}
		owner := history.Owner(v.Object)
		if c.Objects[owner] != nil {
			if text := rule(*of(owner), owner, v, !seen[uid]); text != "" {
				found = append(found, text+", at resourceVersion "+v.Object.GetResourceVersion())
			}
		}
		seen[uid] = true
		for former, at := range all {
			if at.pods[uid] != nil && former != owner && former != "" {
				of(owner).given[uid] = v.At
			}
			delete(at.pods, uid)
		}
		if v.Type != watch.Deleted {
			of(owner).pods[uid] = v.Object
		}
	}
	return found
}

// lastTwo returns the last two distinct values: those before and after an edit, as several versions may have the same.
func lastTwo(values []int64) (found []int64) {
	for i := len(values) - 1; i >= 0 && len(found) < 2; i-- {
		if !slices.Contains(found, values[i]) {
			found = append(found, values[i])
		}
	}
	return found
}

// neverTooMany: no pod is created when there are as many as the strategy allows, including terminating ones. A pod that others
// have just given back is not known yet.
func neverTooMany(c *oracle.Case) []string {
	return eachVersion(c, func(before podsAt, owner types.UID, v history.Version, first bool) string {
		if !first || v.Type == watch.Deleted || len(before.most) == 0 {
			return ""
		}
		known := before.known(c.Began(v), c.Limits.Notice)
		if most := slices.Max(lastTwo(before.most)); int64(known) >= most && c.Created(v) {
			return "pod " + v.Object.GetName() + " is created beside " + strconv.Itoa(known) + ", most are " + fmt.Sprint(most)
		}
		return ""
	})
}

// neverTooFew: the operator deletes no available pod unless more are available than required.
func neverTooFew(c *oracle.Case) []string {
	return eachVersion(c, func(before podsAt, owner types.UID, v history.Version, _ bool) string {
		was := before.pods[v.Object.GetUID()]
		begins := was != nil && was.GetDeletionTimestamp() == nil && (v.Object.GetDeletionTimestamp() != nil || v.Type == watch.Deleted)
		if !begins || !history.Is(was, "Ready") || len(before.least) == 0 || !c.Deleted(v) {
			return ""
		}
		available := int64(-1)
		for _, p := range before.pods {
			if history.Is(p, "Ready") && p.GetDeletionTimestamp() == nil {
				available++
			}
		}
		if least := slices.Min(lastTwo(before.least)); available < least {
			return fmt.Sprintf("pod %s is deleted, which leaves %d available, least are %d", v.Object.GetName(), available, least)
		}
		return ""
	})
}

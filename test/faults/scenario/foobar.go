package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/examples/operators/foobar"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// fooBars returns the operator of examples/operators/foobar.
func fooBars() *Operator {
	const deploy = "examples/operators/foobar/deploy/"
	return &Operator{Name: "foobar", Package: "./examples/operators/foobar/cmd",
		Args: []string{"--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "{flags}"},
		User: "system:serviceaccount:test-operators:foobar-operator", Permissions: []string{deploy + "namespace.yaml", deploy + "rbac.yaml"},
		// These schemas accept anything: a malformed FooBar must reach the operator.
		CRDs:     []string{"test/fixtures/foobars-open.yaml", "test/fixtures/clusterfoobars-open.yaml"},
		Resource: fooBarResource("foobars"), Dependents: []schema.GroupVersionResource{core("configmaps")},
		Rules: oracle.Rules{Settled: fooBarSettled, Restores: func(u *unstructured.Unstructured) bool { return history.Is(u, "Ready") },
			Status: fooBarStatus, Owner: fooBarOwner, Writes: func(reference int) int { return 2*reference + 10 },
			Always: []func(*oracle.Case) []string{successorFirst, finalizerFirst, foreignUntouched}},
		Statuses: map[string]any{
			"nothing at all":         nil,
			"no conditions":          map[string]any{"conditions": []any{}},
			"a condition of its own": map[string]any{"conditions": []any{map[string]any{"type": "Weather", "status": "Unknown"}}},
			"a future generation":    map[string]any{"observedGeneration": 77},
			"another target":         map[string]any{"target": "other", "targetNamespace": "other"},
			"a number as target":     map[string]any{"target": 7},
			"conditions of a string": map[string]any{"conditions": "none"},
		},
		Labels: []string{"test.example.com/operator"}, OwnerAnnotation: "test.example.com/owner",
		Contents: map[string]map[string]any{"configmaps": {"no data": map[string]any{"data": nil}, "other data": map[string]any{"data": map[string]any{"type": "Move"}}}},
		Foreign:  func(u *unstructured.Unstructured) bool { return u.GetLabels()["test.example.com/operator"] != "foobar" },
		Goals:    []string{"G1", "G2", "G3", "G4", "G5", "G6", "G11", "G14", "G18"}, Share: 4, Basics: true, Scenarios: fooBarScenarios(), Watches: foobar.Watches,
	}
}

func fooBarResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: plural}
}

func fooBarScenarios() []Scenario {
	const here, there, path = "{namespace}/{name}-", "{elsewhere}/{name}-", "spec.target"
	toB, malformed := `{"spec":{"target":"{name}-b"}}`, `{"spec":{"target":7}}`
	// A user who repairs a spec has read the errors in it.
	known := all(was("Stalled"), reported(path))
	done := func(target string) Check { return all(ready(target), configMaps(target)) }
	again := func(name string, writes int, namespace, target string) Scenario {
		once := Scenario{Name: name, Writes: writes, Manifest: fooBar("FooBar", namespace), End: all(done(target), ofSecond(target))}
		twice := once
		twice.Steps = []Step{drop(metav1.DeletePropagationBackground, done(target)), anew(once)}
		return twice
	}
	// Writes: the creation, the finalizer, each deletion, and two statuses for each change: that it is in progress and that it is
	// done. A write that only answers the operator's own status would be one more. If two changes come at a time, or a name is
	// taken, the number of statuses for a change depends on when the next change comes.
	return []Scenario{
		{Name: "foobar-created", Writes: 3, Manifest: fooBar("FooBar", ""), End: done(here + "a")},
		{Name: "foobar-target", Writes: 10, Manifest: fooBar("FooBar", ""),
			Steps: []Step{edit("another target", ready(here+"a"), toB), edit("another type", done(here+"b"), `{"spec":{"type":"Link"}}`)},
			End:   all(done(here+"b"), holding("type", "Link"))},
		// The second edit is made while the first is being carried out: what existed before both must be deleted nevertheless.
		{Name: "foobar-target-twice", Writes: 12, Manifest: fooBar("FooBar", ""),
			Steps: []Step{edit("another target", ready(here+"a"), toB), edit("a third target", exists(here+"b"), `{"spec":{"target":"{name}-c"}}`)},
			End:   done(here + "c")},
		{Name: "foobar-elsewhere", Writes: 16, Manifest: fooBar("FooBar", "{elsewhere}"),
			Steps: []Step{edit("another target", ready(there+"a"), toB), edit("its own namespace", done(there+"b"), `{"spec":{"targetNamespace":null}}`),
				edit("the other one again", done(here+"b"), `{"spec":{"targetNamespace":"{elsewhere}"}}`)},
			End: done(there + "b")},
		{Name: "foobar-deleted", Writes: 10, Manifest: fooBar("FooBar", "{elsewhere}"),
			Steps: []Step{edit("another target", ready(there+"a"), toB), drop(metav1.DeletePropagationBackground, done(there+"b"))},
			End:   nothing},
		again("foobar-recreated", 9, "", here+"a"),
		again("foobar-recreated-elsewhere", 12, "{elsewhere}", there+"a"),
		{Name: "foobar-foreign", Writes: 11, Manifest: fooBar("FooBar", ""),
			Steps: []Step{somebodyElses(here+"taken", ready(here+"a")), edit("a target that is taken", exists(here+"taken"), `{"spec":{"target":"{name}-taken"}}`),
				edit("another target", all(warned("NameConflict"), configMaps(here+"a")), toB)},
			End: all(done(here+"b"), exists(here+"taken"))},
		// The finalizer waits only for the FooBar's own ConfigMap.
		{Name: "foobar-foreign-elsewhere", Writes: 12, Manifest: fooBar("FooBar", "{elsewhere}"),
			Steps: []Step{somebodyElses(there+"taken", ready(there+"a")), edit("a target that is taken", exists(there+"taken"), `{"spec":{"target":"{name}-taken"}}`),
				drop(metav1.DeletePropagationBackground, all(warned("NameConflict"), configMaps(there+"a")))},
			End: all(gone, configMaps(), exists(there+"taken"))},
		{Name: "foobar-repaired", Writes: 9, Paths: []string{path}, Manifest: fooBar("FooBar", "{elsewhere}"),
			Steps: []Step{spoil(ready(there+"a"), malformed), edit("repair", all(known, configMaps(there+"a")), toB)},
			End:   done(there + "b")},
		{Name: "foobar-malformed", Writes: 4, Paths: []string{path}, Manifest: fooBar("FooBar", ""),
			Steps: []Step{spoil(ready(here+"a"), malformed)},
			End:   all(known, configMaps(here+"a"))},
		{Name: "clusterfoobar", Writes: 11, Resource: fooBarResource("clusterfoobars"), Cluster: true, Manifest: fooBar("ClusterFooBar", "{namespace}"),
			Steps: []Step{edit("another namespace", ready(here+"a"), `{"spec":{"targetNamespace":"{elsewhere}"}}`), edit("another target", done(there+"a"), toB)},
			End:   done(there + "b")},
	}
}

// fooBar returns the manifest of a FooBar whose ConfigMap is in that namespace, or in the FooBar's own if that is "".
func fooBar(kind, namespace string) func(string) string {
	return func(name string) string {
		spec := "target: " + name + "-a"
		if namespace != "" {
			spec += `, targetNamespace: "` + namespace + `"`
		}
		return fmt.Sprintf("{apiVersion: test.example.com/v1alpha1, kind: %s, metadata: {name: %s}, spec: {%s}}", kind, name, spec)
	}
}

// ready: the status is of the current spec, is Ready, and names that ConfigMap.
func ready(target string) Check {
	return func(v history.View) (bool, string) {
		return history.Is(v.Job, "Ready") && observed(v.Job) && onRecord(v.Job) == fill(target, v.Subject),
			fmt.Sprintf("want it ready with %s, on record is %s; %s", target, onRecord(v.Job), describe(v))
	}
}

// onRecord returns the ConfigMap that the status names.
func onRecord(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	namespace, _, _ := unstructured.NestedString(u.Object, "status", "targetNamespace")
	name, _, _ := unstructured.NestedString(u.Object, "status", "target")
	return namespace + "/" + name
}

// configMaps: these ConfigMaps of the operator exist, and no others.
func configMaps(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var found, want []string
		for _, u := range v.Dependents {
			if u.GetLabels()["test.example.com/operator"] == "foobar" {
				found = append(found, where(u))
			}
		}
		for _, w := range wanted {
			want = append(want, fill(w, v.Subject))
		}
		return slices.Equal(found, want), fmt.Sprintf("want the ConfigMaps %v; %s", want, describe(v))
	}
}

func where(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// exists: a ConfigMap of that name exists, whoever owns it.
func exists(name string) Check {
	return func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Dependents, func(u *unstructured.Unstructured) bool { return where(u) == fill(name, v.Subject) }), "want " + name + "; " + describe(v)
	}
}

// ofSecond: the second FooBar of that name exists, and that ConfigMap is the second one of its name and belongs to it.
func ofSecond(name string) Check {
	return func(v history.View) (bool, string) {
		return v.Job != nil && v.Incarnations[v.Job.GetUID()] == 2 && slices.ContainsFunc(v.Dependents, func(u *unstructured.Unstructured) bool {
			return where(u) == fill(name, v.Subject) && v.Incarnations[u.GetUID()] == 2 && fooBarOwner(u) == v.Job.GetUID()
		}), fmt.Sprintf("want the second FooBar with a second %s; %s", name, describe(v))
	}
}

// holding: a ConfigMap has that value under that key.
func holding(key, value string) Check {
	return func(v history.View) (bool, string) {
		for _, u := range v.Dependents {
			if found, _, _ := unstructured.NestedString(u.Object, "data", key); found == value {
				return true, ""
			}
		}
		return false, fmt.Sprintf("want a ConfigMap with %s=%s; %s", key, value, describe(v))
	}
}

// warned checks for a warning with this reason.
func warned(reason string) Check {
	return warning(reason, func(_ history.View, event *unstructured.Unstructured) bool { return event.Object["reason"] == reason })
}

// warnedOf checks for a warning with this reason about the object whose name is that of the run's object, a dash and this name.
func warnedOf(reason, name string) Check {
	return warning(reason+" of "+name, func(v history.View, event *unstructured.Unstructured) bool {
		about, _, _ := unstructured.NestedString(event.Object, "involvedObject", "name")
		return event.Object["reason"] == reason && about == v.Name+"-"+name
	})
}

// somebodyElses creates a foreign ConfigMap where the FooBar will need one.
func somebodyElses(at string, when Check) Step {
	return Step{Name: "somebody else creates a ConfigMap", When: either(exists(at), when), Do: func(ctx context.Context, a Actor) error {
		namespace, name, _ := strings.Cut(fill(at, a.Run.Subject()), "/")
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"whose": "mine"}}}
		u.SetName(name)
		return a.store(ctx, a.Client.Resource(core("configmaps")).Namespace(namespace), u)
	}}
}

// fooBarSettled: Ready, or Stalled, for the current spec.
func fooBarSettled(u *unstructured.Unstructured) bool {
	return observed(u) && (history.Is(u, "Ready") || history.Is(u, "Stalled"))
}

// fooBarStatus returns the whole status except times and the wording of conditions.
func fooBarStatus(u *unstructured.Unstructured) map[string]any {
	var conditions []string
	for _, c := range history.Conditions(u) {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
	}
	return map[string]any{"observed": observed(u), "target": onRecord(u), "conditions": strings.Join(conditions, ", ")}
}

// fooBarOwner returns the owner of a ConfigMap: its controller owner, or the one in the annotation if that is in another namespace.
func fooBarOwner(u *unstructured.Unstructured) types.UID {
	if owner := history.Owner(u); owner != "" {
		return owner
	}
	words := strings.Fields(u.GetAnnotations()["test.example.com/owner"])
	if len(words) == 0 {
		return ""
	}
	return types.UID(words[len(words)-1])
}

// moment is what exists at one version of a run.
type moment struct {
	object     *unstructured.Unstructured // the FooBar, or nil
	configMaps map[types.UID]*unstructured.Unstructured
	// recorded are all ConfigMaps that the status ever named.
	recorded map[string]bool
}

// moments calls a rule at every version, with what existed before it.
func moments(c *oracle.Case, rule func(before moment, v history.Version) string) (found []string) {
	now := moment{configMaps: map[types.UID]*unstructured.Unstructured{}, recorded: map[string]bool{}}
	for _, v := range c.Versions {
		if text := rule(now, v); text != "" {
			found = append(found, text+", at resourceVersion "+v.Object.GetResourceVersion())
		}
		switch {
		case c.Is(v) && v.Type == watch.Deleted:
			now.object = nil
		case c.Is(v):
			now.object, now.recorded[onRecord(v.Object)] = v.Object, true
		case v.Resource == core("configmaps") && v.Type == watch.Deleted:
			delete(now.configMaps, v.Object.GetUID())
		case v.Resource == core("configmaps"):
			now.configMaps[v.Object.GetUID()] = v.Object
		}
	}
	return found
}

// successorFirst: the operator deletes a ConfigMap of a FooBar that is not being deleted only if another one exists and the
// status names it. Where other clients write the status, an earlier status may have named it.
func successorFirst(c *oracle.Case) []string {
	return moments(c, func(before moment, v history.Version) string {
		if v.Resource != core("configmaps") || v.Type != watch.Deleted || before.object == nil || before.object.GetDeletionTimestamp() != nil ||
			fooBarOwner(v.Object) != before.object.GetUID() || !c.Deleted(v) {
			return ""
		}
		for uid, u := range before.configMaps {
			if uid != v.Object.GetUID() && (where(u) == onRecord(before.object) || c.Limits.Edited && before.recorded[where(u)]) {
				return ""
			}
		}
		return fmt.Sprintf("ConfigMap %s is deleted while %s is on record", where(v.Object), onRecord(before.object))
	})
}

// finalizerFirst: what garbage collection does not reach is created only for a FooBar that has the finalizer, and is deleted before it.
func finalizerFirst(c *oracle.Case) []string {
	guarded := func(u *unstructured.Unstructured) bool {
		return c.Subject.Namespace != "" && u.GetNamespace() != c.Subject.Namespace && fooBarOwner(u) != ""
	}
	return moments(c, func(before moment, v history.Version) string {
		switch known := before.configMaps[v.Object.GetUID()]; {
		case v.Resource == core("configmaps") && v.Type != watch.Deleted && known == nil && guarded(v.Object):
			if before.object == nil || !slices.Contains(before.object.GetFinalizers(), "test.example.com/cleanup") {
				return fmt.Sprintf("ConfigMap %s is created for a FooBar without a finalizer", where(v.Object))
			}
		case c.Is(v) && v.Type == watch.Deleted:
			for _, u := range before.configMaps {
				if guarded(u) && fooBarOwner(u) == v.Object.GetUID() {
					return fmt.Sprintf("the FooBar goes before its ConfigMap %s", where(u))
				}
			}
		}
		return ""
	})
}

// foreignUntouched: an object that another client has created is never written or deleted.
func foreignUntouched(c *oracle.Case) []string {
	return moments(c, func(before moment, v history.Version) string {
		if known := before.configMaps[v.Object.GetUID()]; known != nil && known.Object["data"] != nil && known.GetLabels()["test.example.com/operator"] == "" && fooBarOwner(known) == "" {
			return fmt.Sprintf("%s of the ConfigMap %s, which is somebody else's", v.Type, where(v.Object))
		}
		return ""
	})
}

package schema

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func owner(cluster bool) *Head {
	h := &Head{Resource: Resource{Group: "g", Version: "v1", Kind: "FooBar", Cluster: cluster}}
	if h.Meta.Name, h.Meta.UID = "a", "u"; !cluster {
		h.Meta.Namespace = "ns"
	}
	return h
}

// A child is bound by an owner reference where one is allowed, and by an annotation elsewhere.
func TestChildMeta(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		cluster   bool
		namespace string
		reaches   bool
	}{
		"own namespace":     {false, "ns", true},
		"another namespace": {false, "other", false},
		"of a cluster's":    {true, "other", true},
	} {
		head := owner(test.cluster)
		want := map[string]any{"name": "c", "namespace": test.namespace, "labels": map[string]string{"l": "v"}}
		if test.reaches {
			want["ownerReferences"] = []metav1.OwnerReference{{APIVersion: "g/v1", Kind: "FooBar", Name: "a", UID: "u", Controller: &yes, BlockOwnerDeletion: &yes}}
		} else {
			want["annotations"] = map[string]string{"by": "g/v1 FooBar ns/a u"}
		}
		if head.Reaches(test.namespace) != test.reaches {
			t.Errorf("%s: reaches is %v", name, !test.reaches)
		}
		if diff := cmp.Diff(want, ChildMeta(head, test.namespace, "c", map[string]string{"l": "v"}, "by")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An operator's conditions replace all existing ones: the API server may refuse one that another client has set.
func TestConditions(t *testing.T) {
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	old := []metav1.Condition{{Type: "Other"}, {Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(early)}}
	got := Conditions(old, 4, late, metav1.Condition{Type: "Stalled", Status: "False", Reason: "B"}, metav1.Condition{Type: "Ready", Status: "True", Reason: "A"})
	want := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "A", ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(early)},
		{Type: "Stalled", Status: "False", Reason: "B", ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(late)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(old) != 2 || old[0].Type != "Other" {
		t.Errorf("what was given has changed: %+v", old)
	}
}

func TestRejectedSince(t *testing.T) {
	now, early := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := Observed{Head: owner(false), Now: now}
	o.Head.Meta.Generation = 3
	for name, test := range map[string]struct {
		recorded metav1.Condition
		want     time.Time
	}{
		"on record":          {metav1.Condition{Type: "Stalled", Status: "True", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(early)}, early},
		"of the spec before": {metav1.Condition{Type: "Stalled", Status: "True", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(early)}, now},
		"not rejected":       {metav1.Condition{Type: "Stalled", Status: "False", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(early)}, now},
		"without a time":     {metav1.Condition{Type: "Stalled", Status: "True", ObservedGeneration: 3}, now},
		"another condition":  {metav1.Condition{Type: "Ready", Status: "True", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(early)}, now},
	} {
		if got := RejectedSince(o, []metav1.Condition{test.recorded}, "Stalled"); !got.Equal(test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestAdoptAndRelease: the owner is added to the other owners, or removed from them, and nothing else changes.
func TestAdoptAndRelease(t *testing.T) {
	head := &Head{Resource: Resource{Group: "g", Version: "v1", Kind: "K"}}
	head.Meta.Name, head.Meta.UID = "k", "mine"
	c := Candidate{Child: Child{Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7"}, Labels: LabelsOf(map[string]string{"a": "b"}),
		Owners: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "other"}, {APIVersion: "g/v1", Kind: "K", Name: "k", UID: "mine"}}}
	const other, own = `{"apiVersion":"v1","kind":"Other","name":"o","uid":"other"}`, `{"apiVersion":"g/v1","kind":"K","name":"k","uid":"mine","controller":true,"blockOwnerDeletion":true}`
	for _, x := range []struct {
		patch  Patch
		adopts bool
		owners string
	}{
		{c.Adopt(Pods(), head), true, "[" + other + "," + own + "]"},
		{c.Release(Pods(), head), false, "[" + other + "]"},
		{(&Candidate{Child: c.Child, Owners: []metav1.OwnerReference{OwnerReference(head)}}).Release(Pods(), head), false, "[]"},
		{(&Candidate{Child: c.Child}).Adopt(Pods(), head), true, "[" + own + "]"},
	} {
		want := `{"metadata":{"ownerReferences":` + x.owners + `,"resourceVersion":"7","uid":"u"}}`
		if string(x.patch.Body) != want || x.patch.Adopts != x.adopts || x.patch.Name != "p" || x.patch.Namespace != "ns" || x.patch.UID != "u" || x.patch.ResourceVersion != "7" {
			t.Errorf("%+v %s, want %s", x.patch, x.patch.Body, want)
		}
	}
	if len(c.Owners) != 2 {
		t.Error("the candidate was changed")
	}
}

// TestRefusalOf: only refusals of the given objects count, by resource, namespace and name.
func TestRefusalOf(t *testing.T) {
	o := Observed{Refused: []Refusal{{Resource: Jobs(), Namespace: "ns", Name: "a", Cause: CauseQuota}, {Resource: Jobs(), Namespace: "ns", Name: "b", Cause: CauseNameTaken}}}
	for name, test := range map[string]struct {
		wanted Object
		cause  Cause
	}{
		"the second":        {Object{Resource: Jobs(), Namespace: "ns", Name: "b"}, CauseNameTaken},
		"another name":      {Object{Resource: Jobs(), Namespace: "ns", Name: "c"}, ""},
		"another namespace": {Object{Resource: Jobs(), Namespace: "other", Name: "a"}, ""},
		"another resource":  {Object{Resource: Pods(), Namespace: "ns", Name: "a"}, ""},
	} {
		got := o.RefusalOf([]Object{{Resource: Pods(), Name: "x"}, test.wanted})
		if (got == nil) != (test.cause == "") || got != nil && got.Cause != test.cause {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := o.RefusalOf(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestMetadataOfChildren: the metadata of a plan is added to owner references and labels of a child, and to the preconditions of a
// patch.
func TestMetadataOfChildren(t *testing.T) {
	owner := &Head{Resource: Resource{Group: "g", Version: "v1", Kind: "Foo", Plural: "foos"}}
	owner.Meta.Name, owner.Meta.Namespace, owner.Meta.UID = "a", "ns", "u"
	child := &Child{Namespace: "ns", Name: "c", UID: "x", ResourceVersion: "7"}
	const reference = `"ownerReferences":[{"apiVersion":"g/v1","kind":"Foo","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]`
	for name, c := range map[string]struct{ fields, created, patched any }{
		"none": {map[string]any{"data": 1},
			`{"apiVersion":"v1","data":1,"kind":"ConfigMap","metadata":{"labels":{"app":"a"},"name":"c","namespace":"ns",` + reference + `}}`,
			`{"data":1,"metadata":{"resourceVersion":"7","uid":"x"}}`},
		"labels and annotations": {map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "b", "tier": "c"}, "annotations": map[string]string{"n": "o"}}},
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"n":"o"},"labels":{"app":"a","tier":"c"},"name":"c","namespace":"ns",` + reference + `}}`,
			`{"metadata":{"annotations":{"n":"o"},"labels":{"app":"b","tier":"c"},"resourceVersion":"7","uid":"x"}}`},
		"another name": {map[string]any{"metadata": map[string]any{"name": "b"}}, nil, nil},
		"another type": {map[string]any{"metadata": map[string]string{"labels": "b"}}, nil, nil},
		"kind":         {map[string]any{"kind": "Secret"}, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"a"},"name":"c","namespace":"ns",` + reference + `}}`, `{"kind":"Secret","metadata":{"resourceVersion":"7","uid":"x"}}`},
	} {
		body := func(of func(map[string]any) []byte) (text any) {
			defer func() {
				if recover() != nil {
					text = nil
				}
			}()
			return string(of(c.fields.(map[string]any)))
		}
		created := body(func(fields map[string]any) []byte {
			return NewChild(owner, ConfigMaps(), "ns", "c", map[string]string{"app": "a"}, "", fields).Body
		})
		patched := body(func(fields map[string]any) []byte { return child.Patch(ConfigMaps(), fields).Body })
		if fmt.Sprint(created, patched) != fmt.Sprint(c.created, c.patched) {
			t.Errorf("%s:\n%v\n%v\nwant\n%v\n%v", name, created, patched, c.created, c.patched)
		}
	}
}

func TestPodOf(t *testing.T) {
	const template = `{"metadata":{"name":"no","labels":{"a":"not"},"annotations":{"b":"<c>"},"finalizers":["d/e"]},"spec":{"younger":{"z":1,"a":null},"containers":[]},"Spec":7,"Metadata":{"finalizers":[]}}`
	const own = `"labels":{"l":"m"},"name":"p","namespace":"ns","ownerReferences":[{"apiVersion":"g/v1","kind":"FooBar","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]}`
	for template, want := range map[string]string{
		template:   `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"b":"<c>"},"finalizers":["d/e"],` + own + `,"spec":{"younger":{"z":1,"a":null},"containers":[]}}`,
		`{}`:       `{"apiVersion":"v1","kind":"Pod","metadata":{` + own + `,"spec":null}`,
		`nonsense`: `{"apiVersion":"v1","kind":"Pod","metadata":{` + own + `,"spec":null}`,
	} {
		got := PodOf(owner(false), "p", map[string]string{"l": "m"}, []byte(template))
		if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Name != "p" || got.Namespace != "ns" || got.Resource != Pods() {
			t.Errorf("%s: %+v (-want +got):\n%s", template, got, diff)
		}
	}
}

func TestTaken(t *testing.T) {
	in := func(namespace, name string) Child { return Child{Namespace: namespace, Name: name} }
	o := Observed{Head: owner(false), Children: []Children{
		{Resource: Services(), Items: []Child{in("ns", "service")}},
		{Resource: Pods(), Items: []Child{in("ns", "child"), in("elsewhere", "far")}, Orphans: []Candidate{{Child: in("ns", "orphan")}}, Unclaimed: []Candidate{{Child: in("ns", "unclaimed")}}},
	}, Refused: []Refusal{
		{Resource: Pods(), Namespace: "ns", Name: "refused", Cause: CauseNameTaken, Message: "the name is taken"}, {Resource: Pods(), Namespace: "ns", Name: "quota", Cause: CauseQuota},
		{Resource: Services(), Namespace: "ns", Name: "another", Cause: CauseNameTaken},
	}}
	if got := o.WhyRefused("; ") + (&Observed{}).WhyRefused("; "); got != "; the name is taken" {
		t.Errorf("%q", got)
	}
	taken := o.Taken(Pods())
	maps.DeleteFunc(taken, func(_ string, is bool) bool { return !is })
	if got := slices.Sorted(maps.Keys(taken)); !slices.Equal(got, []string{"child", "orphan", "refused", "unclaimed"}) {
		t.Errorf("%v", got)
	}
}

package schema

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPodOf(t *testing.T) {
	for template, want := range map[string]string{
		`{"metadata":{"name":"no","labels":{"a":"not"},"annotations":{"b":"<c>"},"finalizers":["d/e"]},"spec":{"younger":{"z":1,"a":null},"containers":[]},"Spec":7,"Metadata":{"finalizers":[]}}`: `{"apiVersion":"v1","kind":"Pod",` +
			`"metadata":{"annotations":{"b":"<c>"},"finalizers":["d/e"],"labels":{"l":"m"},"name":"p","namespace":"ns","ownerReferences":[{"apiVersion":"g/v1","kind":"FooBar","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]},` +
			`"spec":{"younger":{"z":1,"a":null},"containers":[]}}`,
		`{}`:       `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"l":"m"},"name":"p","namespace":"ns","ownerReferences":[{"apiVersion":"g/v1","kind":"FooBar","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]},"spec":null}`,
		`nonsense`: `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"l":"m"},"name":"p","namespace":"ns","ownerReferences":[{"apiVersion":"g/v1","kind":"FooBar","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]},"spec":null}`,
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

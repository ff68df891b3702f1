package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/controller/watch"
	"stoic/schema"
)

// TestChildrenOfChildren: what an owned object controls is seen as the child of a child, in the cache and in a live read, within the
// namespace, and it wakes the owner of that object.
func TestChildrenOfChildren(t *testing.T) {
	s := newAPIServer(t)
	s.serve(schema.Jobs(), true)
	owner, stranger := headOf(widgets(), "ns", "a"), headOf(widgets(), "ns", "b")
	job := headOf(schema.Jobs(), "ns", "a-launcher")
	s.put("/apis/batch/v1/namespaces/ns/jobs/a-launcher", withUID(ownedBy(owner, nil), job))
	s.put("/api/v1/namespaces/ns/pods/direct", ownedBy(owner, nil))
	s.put("/api/v1/namespaces/ns/pods/indirect", ownedBy(job, nil))
	s.put("/api/v1/namespaces/elsewhere/pods/claims", ownedBy(job, nil))
	s.put("/api/v1/namespaces/ns/pods/other", ownedBy(headOf(schema.Jobs(), "ns", "other"), nil))

	jobs := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Jobs()}, nil)
	pods := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Pods(), SlimTyped: slimName, Through: []schema.Resource{schema.Jobs()}}, nil)
	background(t, jobs.Serve)
	background(t, pods.Serve)
	eventually(t, "both caches", func() bool { return jobs.Known() && pods.Known() })

	owned := jobs.Of(owner).Items
	if len(owned) != 1 || len(jobs.Of(stranger).Items) > 0 {
		t.Fatalf("jobs: %+v", owned)
	}
	indirect := pods.OfChild(&owned[0])
	if diff := cmp.Diff([]string{"indirect"}, names(indirect)); diff != "" || indirect[0].Through != owned[0].UID {
		t.Errorf("%s%+v", diff, indirect)
	}
	if diff := cmp.Diff([]string{"direct"}, names(pods.Of(owner).Items)); diff != "" {
		t.Error(diff)
	}
	live, newest, err := pods.Read(t.Context(), owner, owned...)
	if diff := cmp.Diff([]string{"direct", "indirect"}, names(live.Items)); diff != "" || err != nil || newest == "" {
		t.Errorf("%s%v %q", diff, err, newest)
	}
	for _, item := range live.Items {
		if (item.Name == "indirect") != (item.Through == job.Meta.UID) {
			t.Errorf("%s is seen through %q", item.Name, item.Through)
		}
	}

	of := Owner{UID: job.Meta.UID, APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "a-launcher"}
	want := Owner{UID: owner.Meta.UID, APIVersion: "example.org/v1", Kind: "Widget", Namespace: "ns", Name: "a"}
	if got := jobs.OwnerOf(of); got != want {
		t.Errorf("the owner of %+v is %+v", of, got)
	}
	older := of
	if older.APIVersion = "batch/v1beta1"; jobs.OwnerOf(older) != want {
		t.Error("an owner reference of another version of the Job finds nothing")
	}
	for name, change := range map[string]func(*Owner){
		"an earlier Job of that name": func(o *Owner) { o.UID = "earlier" },
		"another name":                func(o *Owner) { o.Name = "x" },
		"another namespace":           func(o *Owner) { o.Namespace = "x" },
		"another kind":                func(o *Owner) { o.Kind = "CronJob" },
		"another group":               func(o *Owner) { o.APIVersion = "example.org/v1" },
	} {
		other := of
		change(&other)
		if got := jobs.OwnerOf(other); got != (Owner{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// withUID gives an object the UID of a head.
func withUID(o map[string]any, head *schema.Head) map[string]any {
	o["metadata"].(map[string]any)["uid"] = string(head.Meta.UID)
	return o
}

// TestUnwatched: an unwatched resource is neither listed nor watched nor looked for in discovery, and no reconcile waits for it.
func TestUnwatched(t *testing.T) {
	s := newAPIServer(t)
	d := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Secrets(), Unwatched: true}, nil)
	background(t, d.Serve)()
	owner := headOf(widgets(), "ns", "a")
	live, newest, err := d.Read(t.Context(), owner)
	if found := d.Of(owner); !d.Known() || !d.Ready() || found.Unknown || len(found.Items)+len(live.Items) > 0 || newest != "" || err != nil {
		t.Errorf("%+v, %+v, %q, %v", found, live, newest, err)
	}
	if asked := append(s.asked("secrets", false), s.asked("secrets", true)...); len(asked) > 0 {
		t.Errorf("%d requests", len(asked))
	}
}

package apimodel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// collectedResources returns resources that can own each other.
func collectedResources() []string { return []string{"configmaps", "tfjobs", "services", "pods"} }

// family is a namespace with objects that own each other.
type family struct {
	*pair
	author
	members []step
}

// compareCollections lets the real garbage collector and the model's come to rest after the same deletions, and compares what is
// left.
func compareCollections(t *testing.T, r *real) {
	t.Helper()
	families := make([]*family, max(*sequencesFlag/10, 5))
	for i := range families {
		p, err := newPair(r, fmt.Sprintf("g%d-%d", *seedFlag, i))
		if err != nil {
			t.Fatal(err)
		}
		families[i] = &family{pair: p, author: newAuthor(*seedFlag, uint64(1<<32+i))}
	}
	each := func(do func(*family) error) {
		sideBySide(len(families), func(i int) {
			if err := do(families[i]); err != nil {
				t.Errorf("family %d of seed %d: %v", i, *seedFlag, err)
			}
		})
		if t.Failed() {
			t.FailNow()
		}
	}
	each((*family).found)
	awaitCollector(t, r, "before")
	each((*family).split)
	awaitCollector(t, r, "after")
	each((*family).settled)
}

// found creates a family: each member may be owned by earlier ones.
func (f *family) found() error {
	for i := range 3 + f.IntN(6) {
		s := step{verb: "POST", resource: pick(f.author, collectedResources()...), name: fmt.Sprintf("m%d", i)}
		object := manifest(s.resource, s.name)
		meta := metaOf(object)
		if owners := f.owners(); len(owners) > 0 {
			meta["ownerReferences"] = owners
		}
		s.body = object
		if diff, err := f.do(s); diff != "" || err != nil {
			return fmt.Errorf("make a member: %w\n%s", err, diff)
		}
		f.members = append(f.members, s)
	}
	return nil
}

func (f *family) owners() (owners []any) {
	for _, m := range f.members {
		if !f.one(3) || len(owners) > 2 {
			continue
		}
		made, _ := m.body.(tree)
		o := tree{"apiVersion": made["apiVersion"], "kind": made["kind"], "name": m.name, "uid": "<uid " + m.resource + "/" + m.name + ">"}
		if !f.one(3) {
			o["blockOwnerDeletion"] = true
		}
		owners = append(owners, o)
	}
	return owners
}

// split deletes members of a family, each after the collector has come to rest.
func (f *family) split() error {
	for range 1 + f.IntN(3) {
		m := pick(f.author, f.members...)
		s := step{verb: "DELETE", resource: m.resource, name: m.name, body: tree{
			"propagationPolicy": pick(f.author, "Background", "Foreground", "Foreground", "Orphan")}}
		if diff, err := f.do(s); diff != "" || err != nil {
			return fmt.Errorf("delete a member: %w\n%s\n%v", err, diff, f.reported)
		}
		if err := f.rest(); err != nil {
			return err
		}
		if err := f.settled(); err != nil {
			return err
		}
	}
	return nil
}

// rest lets the model's collector work in a drawn order.
func (f *family) rest() error {
	for range 1000 {
		steps := f.model.Collect()
		if len(steps) == 0 {
			return nil
		}
		next := pick(f.author, steps...)
		f.reported = append(f.reported, "the model's collector: "+next.What)
		next.Do()
	}
	return fmt.Errorf("the model's collector does not come to rest: %v", f.reported)
}

// settled waits until what is left equals the model's state.
func (f *family) settled() error {
	mine, err := left(f.pair.left)
	if err != nil {
		return err
	}
	diff := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		is, err := left(f.pair.right)
		if err != nil {
			return err
		}
		if diff = cmp.Diff(mine, is); diff == "" {
			return nil
		}
	}
	return fmt.Errorf("what is left, - model + real:\n%s\n%v", diff, strings.Join(f.reported, "\n"))
}

// left returns what exists on a side, by resource.
func left(s *side) (map[string][]any, error) {
	found := map[string][]any{}
	for _, resource := range collectedResources() {
		code, text, err := s.send("GET", base(resource, s.namespace), "", "application/json", nil)
		if err != nil || code != 200 {
			return nil, fmt.Errorf("list %s: %d %s %w", resource, code, text, err)
		}
		list, err := parse(text)
		if err != nil {
			return nil, err
		}
		items, _ := list["items"].([]any)
		for _, item := range items {
			o, _ := item.(tree)
			n := s.normal(resource, o, false)
			delete(n, "phase") // the control plane gives up pods without a kubelet
			delete(n, "message")
			if n["deleting"] == true {
				delete(n, "ownerReferences") // which of several owners was released before depends on timing
			}
			found[resource] = append(found[resource], n)
		}
	}
	return found, nil
}

// awaitCollector waits until the real collector has observed everything so far: it must have collected an object of each resource
// that was created last.
func awaitCollector(t *testing.T, r *real, when string) {
	t.Helper()
	p, err := newPair(r, fmt.Sprintf("g%d-%s", *seedFlag, when))
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range collectedResources() {
		object := manifest(resource, "last")
		metaOf(object)["ownerReferences"] = []any{tree{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone-" + when}}
		s := step{verb: "POST", resource: resource, name: "last", body: object}
		if a, err := p.right.do(s); err != nil || a.Code != 201 {
			t.Fatalf("make %s: %v %s", resource, err, a.original)
		}
	}
	for _, resource := range collectedResources() {
		await(t, "the garbage collector to take the last of "+resource, func() (bool, string) {
			a, err := p.right.do(step{verb: "GET", resource: resource, name: "last"})
			return err == nil && a.Code == 404, fmt.Sprintf("%v %s", err, a.original)
		})
	}
}

package apimodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// This file has the changes of a server other than by a request: CRDs that are created and deleted, webhooks, an etcd that is
// written to or restored.

// Serve begins to serve a resource. It changes a resource that is already served, or was; the objects of that still exist.
func (w *Model) Serve(r Resource) {
	w.Unserve(r.Plural)
	s := w.stores[r.Plural]
	if s == nil {
		s = &store{objects: map[string]*object{}}
		w.stores[r.Plural] = s
	}
	s.Resource, s.traits, s.withdrawn = r, traitsOf(r), false
	w.resources = append(w.resources, r)
}

// Unserve stops serving a resource, like a CRD whose version is no longer served. Its objects stay in etcd.
func (w *Model) Unserve(plural string) {
	if s := w.stores[plural]; s != nil {
		s.withdrawn = true
	}
	w.resources = slices.DeleteFunc(slices.Clone(w.resources), func(r Resource) bool { return r.Plural == plural })
}

// Admit sets a function that is called with each object that a request is about to write. It may change the object, like a
// mutating webhook or a schema that drops fields. Nil changes nothing.
func (w *Model) Admit(change func(plural string, object map[string]any)) { w.admit = change }

func (w *Model) admitted(s *store, tree map[string]any) map[string]any {
	if w.admit == nil {
		return tree
	}
	tree = unfold(runtime.DeepCopyJSON(tree))
	w.admit(s.Plural, tree)
	return tree
}

// Open makes a closed namespace usable again.
func (w *Model) Open(namespace string) { delete(w.closing, namespace) }

// Clone returns an independent copy of a model.
func (w *Model) Clone() *Model {
	c := *w
	c.history, c.resources = slices.Clip(w.history), slices.Clone(w.resources)
	c.closing = maps.Clone(w.closing)
	c.stores = make(map[string]*store, len(w.stores))
	for plural, s := range w.stores {
		copied := *s
		copied.objects = maps.Clone(s.objects)
		c.stores[plural] = &copied
	}
	return &c
}

// Store writes an object into etcd under its URL path. It is stored as given, including fields that no request can set. Fields
// that every object has and this one lacks are set, with the values of the previous object if there was one.
func (w *Model) Store(path string, given any) map[string]any {
	s, key, was := w.locate(path)
	tree, err := parse(encode(given))
	if err != nil {
		panic(fmt.Sprintf("store %s: %v", path, err))
	}
	tree = unfold(tree)
	meta, generation := metaOf(tree), int64(1)
	tree["apiVersion"], tree["kind"] = s.apiVersion(), s.Kind
	if meta["namespace"], meta["name"], _ = strings.Cut(key, "/"); !s.Namespaced {
		delete(meta, "namespace")
	}
	old := map[string]any{"uid": w.newUID(), "creationTimestamp": stamp(w.now())}
	if was != nil {
		old, generation = metaOf(was.tree), was.meta.Generation
		if s.changed(was.tree, tree) {
			generation++
		}
	}
	for _, field := range []string{"uid", "creationTimestamp"} {
		if meta[field] == nil {
			meta[field] = old[field]
		}
	}
	if s.generations && meta["generation"] == nil {
		meta["generation"] = generation
	}
	m, err := readMeta(meta)
	if err != nil {
		panic(fmt.Sprintf("store %s: %v", path, err))
	}
	s.tidy(tree, m)
	return w.commit(s, was, tree).tree
}

// Drop deletes an object from etcd, whatever its finalizers.
func (w *Model) Drop(path string) {
	if s, _, was := w.locate(path); was != nil {
		w.commit(s, was, nil)
	}
}

// At returns the object at a path, or nil. It is read-only.
func (w *Model) At(path string) map[string]any {
	if _, _, o := w.locate(path); o != nil {
		return o.tree
	}
	return nil
}

// locate returns the object at a path, and the store where it is, or would be.
func (w *Model) locate(path string) (s *store, key string, is *object) {
	s, namespace, rest := w.route(path)
	if s == nil || len(rest) != 1 {
		panic("there is no object at " + path + ": it is not served")
	}
	key = namespace + "/" + rest[0]
	return s, key, s.objects[key]
}

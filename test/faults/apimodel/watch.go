package apimodel

import (
	"fmt"
	"net/http"
	"strconv"
)

// Watch is what one watcher has requested.
type Watch struct {
	Resource  Resource
	Namespace string
	// Since is the version after which it receives events; 0 if it named none, or "0".
	Since int64
	// Initial: it receives all existing objects first, and a bookmark after them.
	Initial, Bookmarks bool
	selection          selection
}

// Watching reads a request for a watch. If it is rejected, watch is nil and there are a code and a body.
func (w *Model) Watching(r *http.Request) (watch *Watch, code int, body []byte) {
	q, err := w.read(r)
	if err != nil {
		code, body = refusal(err)
		return nil, code, body
	}
	s, err := w.selection(q)
	if err != nil {
		code, body = refusal(err)
		return nil, code, body
	}
	watch = &Watch{Resource: q.store.Resource, Namespace: q.namespace, selection: s,
		Initial: q.query.Get("sendInitialEvents") == "true", Bookmarks: q.query.Get("allowWatchBookmarks") == "true"}
	if text := q.query.Get("resourceVersion"); text != "" {
		if watch.Since, err = strconv.ParseInt(text, 10, 64); err != nil {
			code, body = refusal(fmt.Errorf("strconv.ParseUint: parsing %q: invalid syntax", text))
			return nil, code, body
		}
	}
	return watch, 0, nil
}

// IsWatch reports whether a request is a watch.
func IsWatch(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && (value == "true" || value == "1")
}

// State returns the initial events of the watch: all that matches now, as if it were added.
func (w *Model) State(watch *Watch) []Change {
	var found []Change
	s := w.stores[watch.Resource.Plural]
	for _, key := range s.keys() {
		if o := s.objects[key]; watch.selection.matches(o) {
			found = append(found, Change{Type: Added, Version: versionOf(o), Resource: s.Plural, Namespace: o.meta.Namespace, Name: o.meta.Name,
				UID: string(o.meta.UID), Object: o.json, Tree: o.tree, Labels: o.meta.Labels})
		}
	}
	return found
}

func versionOf(o *object) int64 {
	version, _ := strconv.ParseInt(o.meta.ResourceVersion, 10, 64) // we wrote it
	return version
}

// Seen returns the events of the watch after a version. An object that no longer matches is deleted for it, and one that begins
// to match is added.
func (w *Model) Seen(watch *Watch, after int64) []Change {
	var seen []Change
	for _, c := range w.Events(watch.Resource.Plural, watch.Namespace, after) {
		is := c.Type != Deleted && watch.selection.matches(&object{tree: c.Tree, meta: c.meta})
		was := watch.selection.matches(c.before)
		switch {
		case is && !was:
			c.Type = Added
		case is:
			c.Type = Modified
		case was && c.Type != Deleted:
			c = c.departed()
		case !was:
			continue
		}
		seen = append(seen, c)
	}
	return seen
}

// departed returns the event for an object that no longer matches: its last state that did, at the version of the change.
func (c Change) departed() Change {
	tree := unfold(c.before.tree)
	metaOf(tree)["resourceVersion"] = strconv.FormatInt(c.Version, 10)
	c.Type, c.Tree, c.Object, c.Labels = Deleted, tree, appendJSON(nil, tree), c.before.meta.Labels
	return c
}

// Bookmark returns the object of a bookmark event. end marks the end of the initial events.
func (watch *Watch) Bookmark(version int64, end bool) []byte {
	meta := map[string]any{"resourceVersion": strconv.FormatInt(version, 10)}
	if end {
		meta["annotations"] = map[string]any{"k8s.io/initial-events-end": "true"}
	}
	return appendJSON(nil, map[string]any{"kind": watch.Resource.Kind, "apiVersion": watch.Resource.apiVersion(), "metadata": meta})
}

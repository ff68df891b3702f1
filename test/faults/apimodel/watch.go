package apimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Watch is what one watcher has requested.
type Watch struct {
	Resource  Resource
	Namespace string
	// Since is the version after which it receives events; 0 if it named none, or "0".
	Since int64
	// Initial: it receives all existing objects first, and a bookmark after them.
	Initial, Bookmarks bool
	// Position is the version up to which it has received everything.
	Position  int64
	selection selection
}

// Watching reads a request for a watch. If it is rejected, watch is nil and there are a code and a body.
func (w *Model) Watching(r *http.Request) (watch *Watch, code int, body []byte) {
	q, err := w.read(r)
	if err != nil {
		code, body = refusal(err)
		return nil, code, body
	}
	s, err := q.selection()
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
	watch.Position = watch.Since
	return watch, 0, nil
}

// IsWatch reports whether a request is a watch.
func IsWatch(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && (value == "true" || value == "1")
}

// Begin returns the first events of a watch: what exists at a version, if it named no version or requested initial events.
func (w *Model) Begin(watch *Watch, version int64) (events []byte) {
	if !watch.Initial && watch.Since != 0 {
		return nil
	}
	then := w.at(w.stores[watch.Resource.Plural], version)
	for _, key := range slices.Sorted(maps.Keys(then)) {
		if watch.selection.matches(then[key]) {
			events = append(events, Event(Added, then[key].json)...)
		}
	}
	watch.Position = version
	if watch.Initial && watch.Bookmarks {
		events = append(events, watch.Bookmark(true)...)
	}
	return events
}

// More returns the events of a watch since its position, and whether it has ended: because its resource is no longer served, or
// because the events it needs were compacted.
func (w *Model) More(watch *Watch) (events []byte, ended bool) {
	switch {
	case w.stores[watch.Resource.Plural].withdrawn:
		return nil, true
	case watch.Position < w.compacted:
		_, gone := refusal(apierrors.NewResourceExpired("too old resource version"))
		return Event("ERROR", gone), true
	}
	for _, c := range w.Seen(watch, watch.Position) {
		events = append(events, Event(c.Type, c.Object)...)
	}
	watch.Position = max(watch.Position, w.version) // the watch waits for a version in the future
	return events, false
}

// Seen returns the events of the watch after a version. An object that no longer matches is deleted for it, and one that begins
// to match is added.
func (w *Model) Seen(watch *Watch, after int64) []Change {
	var seen []Change
	for _, c := range w.Changes(after) {
		if c.Resource != watch.Resource.Plural || watch.Namespace != "" && c.Namespace != watch.Namespace {
			continue
		}
		matches := c.Type != Deleted && watch.selection.matches(&object{tree: c.Tree, meta: c.meta})
		matched := watch.selection.matches(c.before)
		switch {
		case matches && !matched:
			c.Type = Added
		case matches:
			c.Type = Modified
		case matched && c.Type != Deleted:
			c = c.departed()
		case !matched:
			continue
		}
		seen = append(seen, c)
	}
	return seen
}

// departed returns the event for an object that no longer matches: its last state that did, at the version of the change.
func (c Change) departed() Change {
	c.Type = Deleted
	c.Tree = unfold(c.before.tree)
	metaOf(c.Tree)["resourceVersion"] = strconv.FormatInt(c.Version, 10)
	c.Object = encode(c.Tree)
	return c
}

// Bookmark returns a bookmark event at the watch's position. end marks the end of the initial events.
func (watch *Watch) Bookmark(end bool) []byte {
	meta := map[string]any{"resourceVersion": strconv.FormatInt(watch.Position, 10)}
	if end {
		meta["annotations"] = map[string]any{"k8s.io/initial-events-end": "true"}
	}
	return Event("BOOKMARK", encode(map[string]any{"kind": watch.Resource.Kind, "apiVersion": watch.Resource.apiVersion(), "metadata": meta}))
}

// Event returns an event as a line.
func Event(kind string, object []byte) []byte {
	return append(encode(map[string]any{"type": kind, "object": json.RawMessage(object)}), '\n')
}

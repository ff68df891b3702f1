package apimodel

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Stream is a watch that is being served, and its position.
type Stream struct {
	watch    *Watch
	position int64
}

// Begin answers a request for a watch, with its first events: all that exists, if it names no version or requests initial events.
func (w *Model) Begin(r *http.Request) (s *Stream, first []byte, code int, body []byte) {
	watch, code, body := w.Watching(r)
	if watch == nil {
		return nil, nil, code, body
	}
	s = &Stream{watch: watch, position: watch.Since}
	if watch.Initial || watch.Since == 0 {
		for _, c := range w.State(watch) {
			first = appendEvent(first, Added, c.Object)
		}
		if s.position = w.version; watch.Initial && watch.Bookmarks {
			first = appendEvent(first, "BOOKMARK", watch.Bookmark(w.version, true))
		}
	}
	return s, first, http.StatusOK, nil
}

// More returns the events of a watch since the last call, and whether it has ended: because its resource is no longer served, or
// because the events it needs were compacted.
func (w *Model) More(s *Stream) (events []byte, ended bool) {
	switch {
	case w.stores[s.watch.Resource.Plural].withdrawn:
		return nil, true
	case s.position < w.compacted:
		_, gone := refusal(apierrors.NewResourceExpired("too old resource version"))
		return appendEvent(nil, "ERROR", gone), true
	}
	for _, c := range w.Seen(s.watch, s.position) {
		events = appendEvent(events, c.Type, c.Object)
	}
	s.position = max(s.position, w.version) // the watch waits for a version in the future
	return events, false
}

// appendEvent appends an event as a line.
func appendEvent(out []byte, kind string, object []byte) []byte {
	out = append(append(append(out, `{"type":"`...), kind...), `","object":`...)
	return append(append(out, object...), "}\n"...)
}

// Target returns what a path names: a resource, with its subresource if there is one, the namespace and the name; nothing if the
// path is one of discovery. The resource need not be served.
func Target(path string) (resource, namespace, name string) {
	steps := strings.Split(strings.Trim(path, "/"), "/")
	root := 2
	if steps[0] == "apis" {
		root = 3
	}
	if len(steps) <= root {
		return "", "", ""
	}
	if steps = steps[root:]; steps[0] == "namespaces" && len(steps) > 2 {
		namespace, steps = steps[1], steps[2:]
	}
	resource = steps[0]
	if len(steps) > 1 {
		name = steps[1]
	}
	if len(steps) > 2 {
		resource += "/" + steps[2]
	}
	return resource, namespace, name
}

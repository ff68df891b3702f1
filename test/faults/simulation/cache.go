package simulation

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"stoic/test/faults/apimodel"
)

// cache is between watchers and the model: an API server may answer a reflector from its watch cache, which lags, and each
// watcher receives events at its own pace.
type cache struct{ model *apimodel.Model }

// list answers a LIST as of a version.
func (c cache) list(q *request, at int64) answer {
	as := *q.http
	where := *as.URL
	query := url.Values{"resourceVersion": {strconv.FormatInt(at, 10)}, "resourceVersionMatch": {"Exact"}}
	if s := q.query.Get("labelSelector"); s != "" {
		query.Set("labelSelector", s)
	}
	where.RawQuery = query.Encode()
	as.URL = &where
	code, body := c.model.Do(&as)
	return answer{code: code, body: body}
}

// open answers a WATCH that begins at a version, with the initial objects if the watcher requests them.
func (c cache) open(q *request, at int64) answer {
	watch, code, body := c.model.Watching(q.http)
	if watch == nil {
		return answer{code: code, body: body}
	}
	s := q.from.gate.open(q, watch, at)
	if watch.Initial {
		var list struct{ Items []json.RawMessage }
		_ = json.Unmarshal(c.list(q, at).body, &list) // the model writes JSON
		for _, object := range list.Items {
			s.send(apimodel.Added, object)
		}
		s.send("BOOKMARK", watch.Bookmark(at, true))
	}
	return answer{code: http.StatusOK, stream: s}
}

// next returns the next event that a watcher may receive.
func (c cache) next(s *stream) (apimodel.Change, bool) {
	seen := c.model.Seen(s.watch, s.position)
	if len(seen) == 0 {
		s.position = c.model.Version()
		return apimodel.Change{}, false
	}
	return seen[0], true
}

// meta is the part of any object that the simulation reads.
type meta struct {
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []struct {
		UID        string `json:"uid"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
}

func (m meta) controller() string {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o.UID
		}
	}
	return ""
}

func metaOf(object []byte) meta {
	var o struct{ Metadata meta }
	_ = json.Unmarshal(object, &o) // the model writes JSON
	return o.Metadata
}

package proxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
)

// parse reads a request as the API server does; false if it concerns no resource (discovery, health, metrics).
func parse(r *http.Request, body []byte) (Request, bool) {
	q := Request{Query: r.URL.Query()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		q.Version = parts[1]
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		q.Group = parts[1]
		q.Version = parts[2]
		parts = parts[3:]
	default:
		return Request{}, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		q.Namespace = parts[1]
		parts = parts[2:]
	}
	parts = append(parts, "", "")
	q.Resource, q.Name, q.Subresource = parts[0], parts[1], parts[2]
	q.Verb = verb(r.Method, q.Name, isTrue(q.Query.Get("watch")))
	q.Body = asJSON(r.Header.Get("Content-Type"), body)
	return q, true
}

func isTrue(value string) bool { return value == "true" || value == "1" }

func verb(method, name string, watched bool) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch {
	case watched:
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}

func (q *Request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, q.Verb)
}

// asJSON converts a protobuf body to JSON, so that journals have one format. It returns what it cannot read unchanged.
func asJSON(contentType string, body []byte) []byte {
	if !strings.Contains(contentType, "protobuf") || len(body) == 0 {
		return body
	}
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return body
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	text, err := json.Marshal(object)
	if err != nil {
		return body
	}
	return text
}

// reference is the part of a body that has names.
type reference struct {
	Metadata struct {
		Name            string            `json:"name"`
		GenerateName    string            `json:"generateName"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	InvolvedObject struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
	Regarding struct {
		Name string `json:"name"`
	} `json:"regarding"`
}

// about returns the name of the object that an event object is about, or "".
func (r *reference) about() string {
	if r.InvolvedObject.Name != "" {
		return r.InvolvedObject.Name
	}
	return r.Regarding.Name
}

// readReference reads a body. A body that cannot be read has no names: the API server judges it.
func readReference(body []byte) (r reference) {
	_ = json.Unmarshal(body, &r)
	return r
}

// identify adds the name in its body to a request and returns the names by which it may concern a subject.
func (q *Request) identify() []string {
	var body reference
	if bytes.HasPrefix(bytes.TrimSpace(q.Body), []byte("{")) && q.Verb != "delete" && q.Verb != "deletecollection" {
		body = readReference(q.Body)
	}
	if q.Verb == "deletecollection" {
		return nil // whatever it selects
	}
	if q.Name == "" {
		q.Name = body.Metadata.Name
	}
	if q.Resource == "events" {
		return []string{q.aboutEvent(body)}
	}
	if q.Name == "" {
		return []string{body.Metadata.GenerateName}
	}
	return []string{q.Name}
}

// aboutEvent: a patch of an event may lack the involved object, but the event's name is that object's name, a dot and digits.
func (q *Request) aboutEvent(body reference) string {
	if name := body.about(); name != "" {
		return name
	}
	if i := strings.LastIndexByte(q.Name, '.'); i >= 0 {
		return q.Name[:i]
	}
	return q.Name
}

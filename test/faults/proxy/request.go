package proxy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
)

// Request is what a request asks for.
type Request struct {
	// Number counts the writes of a track, from 1; 0 for a GET.
	Number int
	// Verb is create, update, patch, delete, deletecollection, get, list or watch.
	Verb                                  string
	Group, Version, Resource, Subresource string
	// Name of a created object is the one in its body.
	Namespace, Name string
	Query           url.Values
	Body            []byte
}

// parse reads a request as the API server does. One that concerns no resource (discovery, health, metrics) has none.
func parse(r *http.Request, body []byte) Request {
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
		return Request{Verb: "get"}
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		q.Namespace = parts[1]
		parts = parts[2:]
	}
	parts = append(parts, "", "")
	q.Resource, q.Name, q.Subresource = parts[0], parts[1], parts[2]
	q.Verb = verb(r.Method, q.Name, isTrue(q.Query.Get("watch")))
	q.Body = asJSON(r.Header.Get("Content-Type"), body)
	if q.Name == "" && q.Verb == "create" {
		q.Name = readNames(q.Body).Metadata.Name
	}
	return q
}

func isTrue(value string) bool { return value == "true" || value == "1" }

func verb(method, name string, isWatch bool) string {
	verbs := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	switch {
	case method == http.MethodDelete && name == "":
		return "deletecollection"
	case verbs[method] != "":
		return verbs[method]
	case isWatch:
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

// readable keeps the JSON forms of what an operator accepts: the proxy could not split a stream in another form into events.
func readable(accept string) string {
	var kept []string
	for form := range strings.SplitSeq(accept, ",") {
		if strings.HasPrefix(strings.TrimSpace(form), "application/json") {
			kept = append(kept, strings.TrimSpace(form))
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// names is the part of a body that has names.
type names struct {
	Metadata struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
	InvolvedObject struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
	Regarding struct {
		Name string `json:"name"`
	} `json:"regarding"`
}

// readNames reads a body. A body that cannot be read has no names: the API server judges it.
func readNames(body []byte) (n names) {
	_ = json.Unmarshal(body, &n)
	return n
}

// subject returns the subject that a request concerns: the name of its object, or of the object that its event is about, up to the
// first hyphen. A patch of an event may lack the object, but the event's name is that object's name, a dot and digits.
func (q *Request) subject() string {
	name := q.Name
	body := readNames(q.Body)
	switch {
	case q.Resource == "events" && body.InvolvedObject.Name+body.Regarding.Name != "":
		name = body.InvolvedObject.Name + body.Regarding.Name
	case name == "":
		name = body.Metadata.GenerateName
	}
	subject, _, _ := strings.Cut(name, "-")
	if q.Resource == "events" {
		subject, _, _ = strings.Cut(subject, ".")
	}
	return subject
}

package apimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// side is one of the two servers: the model, or a real API server.
type side struct {
	send      sender
	namespace string
	known     map[string]*knowledge // by resource/name
	uids      map[string]string     // their names in answers
}

// sender sends a request to a server.
type sender func(method, path, contentType, accept string, body []byte) (int, []byte, error)

// knowledge is what the side has returned of an object.
type knowledge struct {
	tree              tree
	uid, olduid       string
	version, previous string
}

// answer is what is compared.
type answer struct {
	Code                 int
	Reason               string
	About, Name          string // a Status' details
	Causes               []string
	Object               any
	Items                []any
	More                 bool // there is another page
	next                 string
	unreadable, original string
}

func newSide(namespace string, send sender) *side {
	return &side{send: send, namespace: namespace, known: map[string]*knowledge{}, uids: map[string]string{}}
}

func (s *side) of(resource, name string) *knowledge {
	k := s.known[resource+"/"+name]
	if k == nil {
		k = &knowledge{}
		s.known[resource+"/"+name] = k
	}
	return k
}

func base(resource, namespace string) string {
	if version := resourceNamed(resource).apiVersion(); version != "v1" {
		return "/apis/" + version + "/namespaces/" + namespace + "/" + resource
	}
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

// do sends one step.
func (s *side) do(st step) (answer, error) {
	method, path, contentType := st.verb, base(st.resource, s.namespace), "application/json"
	switch st.verb {
	case list:
		method = "GET"
	case mergeIt:
		method, contentType = "PATCH", "application/merge-patch+json"
	case patchIt:
		method, contentType = "PATCH", "application/json-patch+json"
	}
	if st.verb != "POST" && st.verb != list {
		path += "/" + st.name
	}
	if st.subresource != "" {
		path += "/" + st.subresource
	}
	accept := "application/json"
	if st.partial {
		accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
		if st.verb == list {
			accept = strings.Replace(accept, "Metadata;", "MetadataList;", 1)
		}
	}
	var body []byte
	if st.body != nil {
		body = encode(s.fill(s.onto(st)))
	}
	code, text, err := s.send(method, path+s.fillText(st.query), contentType, accept, body)
	if err != nil {
		return answer{}, err
	}
	return s.read(st, code, text), nil
}

// onto merges the body of a PUT into what is known of the object.
func (s *side) onto(st step) any {
	if !st.onto {
		return st.body
	}
	known := s.of(st.resource, st.name).tree
	if known == nil {
		known = manifest(st.resource, st.name)
	}
	if _, is := st.body.(tree); !is {
		return st.body
	}
	next, err := jsonpatch.MergePatch(encode(known), encode(st.body))
	if err != nil {
		panic(err) // both are objects
	}
	merged, err := parse(next)
	if err != nil {
		panic(err)
	}
	return merged
}

// fill replaces words by their meaning for this side.
func (s *side) fill(value any) any {
	switch v := value.(type) {
	case string:
		return s.fillText(v)
	case tree:
		filled := tree{}
		for k, item := range v {
			filled[k] = s.fill(item)
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			filled[i] = s.fill(item)
		}
		return filled
	}
	return value
}

func (s *side) fillText(text string) string {
	before, rest, found := strings.Cut(text, "<")
	word, after, closed := strings.Cut(rest, ">")
	what, of, two := strings.Cut(word, " ")
	if !found || !closed || !two {
		return text
	}
	k := s.known[of]
	if k == nil {
		k = &knowledge{}
	}
	value := map[string]string{"uid": k.uid, "olduid": k.olduid, "rv": k.version, "old": k.previous}[what]
	if value == "" {
		value = "1"
	}
	return before + value + after
}

// read converts the answer to words that both sides share, and remembers it.
func (s *side) read(st step, code int, text []byte) answer {
	a := answer{Code: code, original: string(text)}
	var object tree
	if err := json.Unmarshal(text, &object); err != nil {
		a.unreadable = err.Error()
		return a
	}
	kind, _ := object["kind"].(string)
	switch {
	case kind == "Status":
		a.readStatus(s, object)
	case strings.HasSuffix(kind, "List"):
		items, _ := object["items"].([]any)
		for _, item := range items {
			o, _ := item.(tree)
			a.Items = append(a.Items, s.normal(st.resource, o, true))
		}
		a.next, _ = Get(object, "metadata", "continue").(string)
		a.More = a.next != ""
	default:
		a.Object = s.normal(st.resource, object, true)
	}
	return a
}

func (a *answer) readStatus(s *side, status tree) {
	a.Reason, _ = status["reason"].(string)
	a.About, _ = Get(status, "details", "kind").(string)
	a.Name, _ = Get(status, "details", "name").(string)
	if uid, ok := Get(status, "details", "uid").(string); ok {
		a.Name += " " + s.call(uid)
	}
	causes, _ := Get(status, "details", "causes").([]any)
	for _, c := range causes {
		cause, _ := c.(tree)
		if cause["field"] == "<nil>" {
			continue // rules of a schema
		}
		field, _ := cause["field"].(string)
		if strings.HasPrefix(field, "metadata.ownerReferences") { // the library that the model uses is newer, and names the index
			a.Causes = append(a.Causes, "metadata.ownerReferences")
			continue
		}
		a.Causes = append(a.Causes, fmt.Sprintf("%v %s", cause["reason"], field))
	}
	slices.Sort(a.Causes)
	a.Causes = slices.Compact(a.Causes)
}

// call returns the name of an object that both sides share.
func (s *side) call(uid string) string {
	if s.uids[uid] == "" {
		s.uids[uid] = fmt.Sprintf("object %d", len(s.uids))
	}
	return s.uids[uid]
}

// normal returns an object without what differs between any two servers.
func (s *side) normal(resource string, object tree, learn bool) tree {
	meta := metaOf(object)
	name, _ := meta["name"].(string)
	uid, _ := meta["uid"].(string)
	version, _ := meta["resourceVersion"].(string)
	n := tree{}
	for _, field := range []string{"name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "deletionGracePeriodSeconds"} {
		if value, has := meta[field]; has {
			n[field] = value
		}
	}
	n["uid"], n["created"], n["deleting"] = s.call(uid), meta["creationTimestamp"] != nil, meta["deletionTimestamp"] != nil
	n["generation"] = meta["generation"]
	n["ownerReferences"] = s.owners(meta["ownerReferences"])
	if object["kind"] != "PartialObjectMetadata" {
		maps.Copy(n, projection(resource, object))
	}
	if !learn {
		return n
	}
	k := s.of(resource, name)
	n["version"] = map[bool]string{true: "as before", false: "new"}[version == k.version]
	if uid != k.uid {
		k.uid, k.olduid = uid, k.uid
	}
	if version != k.version {
		k.version, k.previous = version, k.version
	}
	if object["kind"] != "PartialObjectMetadata" {
		k.tree = object
		delete(metaOf(k.tree), "managedFields")
	}
	return n
}

func (s *side) owners(value any) any {
	list, _ := value.([]any)
	var owners []any
	for _, item := range list {
		o, _ := item.(tree)
		owner := maps.Clone(o)
		if uid, _ := owner["uid"].(string); s.uids[uid] != "" {
			owner["uid"] = s.uids[uid]
		}
		owners = append(owners, owner)
	}
	return owners
}

// projection returns the modelled part of the rest of an object.
func projection(resource string, object tree) tree {
	p := tree{}
	switch resource {
	case "pods":
		p["node"], p["phase"], p["message"] = Get(object, "spec", "nodeName"), Get(object, "status", "phase"), Get(object, "status", "message")
		p["grace"] = Get(object, "spec", "terminationGracePeriodSeconds")
		if containers, _ := Get(object, "spec", "containers").([]any); len(containers) > 0 {
			c, _ := containers[0].(tree)
			p["image"] = c["image"]
		}
	case "services":
		if ports, _ := Get(object, "spec", "ports").([]any); len(ports) > 0 {
			port, _ := ports[0].(tree)
			p["port"] = port["port"]
		}
	case "configmaps", "secrets":
		p["data"] = object["data"]
	case "serviceaccounts":
		p["mount"] = object["automountServiceAccountToken"]
	case "roles":
		p["rules"] = object["rules"]
	case "rolebindings":
		p["roleRef"], p["subjects"] = object["roleRef"], object["subjects"]
	default:
		for k, v := range object {
			if k != "metadata" {
				p["."+k] = v
			}
		}
	}
	return p
}

// watchPath returns the path of a watch of a resource.
func (s *side) watchPath(resource, since, selector string) string {
	return base(resource, s.namespace) + "?watch=true&resourceVersion=" + since + "&labelSelector=" + url.QueryEscape(selector)
}

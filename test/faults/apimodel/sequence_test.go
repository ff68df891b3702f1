package apimodel

import (
	"fmt"
	"math/rand/v2"
)

// step is an operation of a sequence, in words with the same meaning for both sides. Strings such as "<uid tfjobs/a>" are
// replaced by the last value that a side has returned of an object.
type step struct {
	verb, resource, name, subresource string
	partial                           bool // the client accepts only metadata
	body                              any
	onto                              bool // the body is merged onto what is known of the object
	query                             string
}

func (s step) String() string {
	return fmt.Sprintf("%s %s/%s %s%s %s", s.verb, s.resource, s.name, s.subresource, s.query, encode(s.body))
}

// Verbs beside HTTP's own methods.
const (
	list    = "LIST"
	mergeIt = "MERGE"
	patchIt = "JSONPATCH"
)

// author writes sequences.
type author struct{ *rand.Rand }

func newAuthor(seed, sequence uint64) author { return author{rand.New(rand.NewPCG(seed, sequence))} }

func pick[T any](a author, from ...T) T { return from[a.IntN(len(from))] }

// one is true once in n times.
func (a author) one(n int) bool { return a.IntN(n) == 0 }

func (a author) name() string { return pick(a, "a", "a", "b") }

func (a author) resource() string {
	return pick(a, "pods", "pods", "services", "configmaps", "tfjobs", "tfjobs", "pytorchjobs", "secrets", "serviceaccounts", "roles", "rolebindings")
}

// sequence returns operations on few objects, so that they interfere.
func (a author) sequence(length int) []step {
	resources := []string{a.resource(), a.resource()}
	steps := make([]step, length)
	for i := range steps {
		steps[i] = a.step(pick(a, resources...), i)
	}
	return steps
}

func (a author) step(resource string, i int) step {
	s := step{resource: resource, name: a.name(), partial: a.one(4)}
	n := a.IntN(100)
	switch {
	case n < 25 || i < 2:
		s.verb, s.body = "POST", a.newborn(s)
	case n < 30:
		s.verb = "GET"
	case n < 37:
		a.list(&s)
	case n < 50:
		s.verb, s.onto, s.subresource = "PUT", true, a.subresource(resource)
		s.body = a.edit(s)
	case n < 65:
		s.verb, s.subresource = mergeIt, a.subresource(resource)
		s.body = a.edit(s)
	case n < 78:
		s.verb, s.subresource = patchIt, a.subresource(resource)
		s.body = a.operations(s)
	default:
		s.verb = "DELETE"
		a.deletion(&s)
	}
	return s
}

func (a author) subresource(resource string) string {
	if !resourceNamed(resource).Status && !a.one(10) {
		return ""
	}
	return pick(a, "", "", "status")
}

func (a author) list(s *step) {
	s.verb = list
	s.query = pick(a, "?", "?labelSelector=x%3D1", "?labelSelector=x+in+(0,1),!y", "?fieldSelector=metadata.name%3Da", "?fieldSelector=metadata.name!%3Da",
		"?limit=1", "?resourceVersionMatch=Exact&resourceVersion=<rv "+s.resource+"/a>",
		"?resourceVersionMatch=Exact&resourceVersion=<old "+s.resource+"/a>", "?fieldSelector=status.phase%3DPending", "?labelSelector=a%3D%3D%3D", "?resourceVersionMatch=Exact")
}

type tree = map[string]any

// manifest returns a valid object.
func manifest(resource, name string) tree {
	r := resourceNamed(resource)
	object := tree{"apiVersion": r.apiVersion(), "kind": r.Kind, "metadata": tree{"name": name}}
	switch resource {
	case "pods":
		object["spec"] = tree{"schedulerName": "nobody", "containers": []any{tree{"name": "c", "image": "i"}}}
	case "services":
		object["spec"] = tree{"clusterIP": "None", "ports": []any{tree{"port": int64(80)}}}
	case "configmaps":
		object["data"] = tree{"k": "v"}
	case "secrets":
		object["data"] = tree{"k": "djE="}
	case "roles":
		object["rules"] = []any{rule("get")}
	case "rolebindings":
		object["roleRef"] = tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
		object["subjects"] = []any{subject("a")}
	case "tfjobs":
		object["spec"] = tree{"n": int64(1), "list": []any{int64(1), "x", nil, 1.5}, "deep": tree{"a": tree{}}}
	case "pytorchjobs":
		object["spec"] = tree{"pytorchReplicaSpecs": tree{"Worker": tree{"replicas": int64(1), "template": tree{
			"spec": tree{"containers": []any{tree{"name": "pytorch", "image": "i"}}}}}}}
	}
	return object
}

func resourceNamed(plural string) Resource {
	for _, r := range modelled() {
		if r.Plural == plural {
			return r
		}
	}
	panic(plural)
}

// rule returns a rule of a Role about ConfigMaps.
func rule(verb string) tree {
	return tree{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{verb}}
}

// subject returns a subject of a RoleBinding: a service account.
func subject(name string) tree { return tree{"kind": "ServiceAccount", "name": name, "namespace": "a"} }

// newborn returns the body of a POST: mostly valid.
func (a author) newborn(s step) any {
	object := manifest(s.resource, s.name)
	meta := metaOf(object)
	a.metadata(meta, 2)
	if s.resource == "pods" {
		spec, _ := object["spec"].(tree)
		if a.one(2) {
			spec["nodeName"] = "nowhere"
		}
		if a.one(3) {
			spec["terminationGracePeriodSeconds"] = pick(a, int64(0), 7)
		}
	}
	if a.one(3) {
		object["status"] = a.status(s.resource)
	}
	switch a.IntN(40) {
	case 0:
		delete(meta, "name")
	case 1:
		meta["namespace"] = "elsewhere"
	case 2:
		meta["resourceVersion"] = "<rv " + s.resource + "/a>"
	case 3:
		object[pick(a, "kind", "apiVersion")] = pick(a, "Other", "")
	case 4:
		meta["name"] = "Not_A_Name"
	case 5:
		meta["uid"], meta["generation"], meta["creationTimestamp"] = "mine", int64(7), "2001-01-01T00:00:00Z"
	case 6:
		meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = "2001-01-01T00:00:00Z", int64(3)
	case 7:
		return "no object"
	case 8:
		delete(object, pick(a, "kind", "apiVersion"))
	}
	return object
}

// metadata sets about one field in n.
func (a author) metadata(meta tree, n int) {
	if a.one(n) {
		meta["labels"] = pick[any](a, tree{"x": "0"}, tree{"x": "1"}, tree{"x": "1", "y": "1"}, nil)
	}
	if a.one(2 * n) {
		meta["annotations"] = pick[any](a, tree{"x": "ä\n\"<"}, tree{"x": ""}, nil)
	}
	if a.one(n) {
		meta["finalizers"] = pick(a, []any{"example.com/a"}, []any{"example.com/a", "example.com/b"}, []any{"foregroundDeletion"}, []any{"orphan"},
			[]any{"foregroundDeletion", "example.com/b"}, []any{"foregroundDeletion", "orphan"}, []any{})
	}
	if a.one(2 * n) {
		meta["ownerReferences"] = pick(a, []any{a.owner()}, []any{a.owner(), a.owner()}, []any{})
	}
	if a.one(12 * n) {
		meta["labels"] = pick[any](a, tree{"x": "not a value"}, tree{"not a/key/": "x"}, tree{"x": int64(1)}, []any{"x"}, tree{"x": nil})
	}
	if a.one(12 * n) {
		meta["finalizers"] = pick[any](a, []any{"no domain"}, "x", []any{"unqualified"})
	}
}

func (a author) owner() any {
	o := tree{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": pick(a, "<uid configmaps/a>", "bogus", "<uid tfjobs/a>")}
	if a.one(2) {
		o["apiVersion"], o["kind"] = "kubeflow.org/v1", "TFJob"
	}
	if a.one(3) {
		o["controller"] = true
	}
	if a.one(3) {
		o["blockOwnerDeletion"] = true
	}
	if a.one(12) {
		delete(o, pick(a, "apiVersion", "kind", "name", "uid"))
	}
	return o
}

func (a author) status(resource string) any {
	switch resource {
	case "pods":
		return tree{"phase": pick(a, "Running", "Failed", "Succeeded"), "message": pick(a, "m", "n")}
	case "services":
		return tree{"loadBalancer": tree{}}
	case "pytorchjobs":
		return tree{"startTime": pick(a, "2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z")}
	}
	return pick[any](a, tree{"s": int64(a.IntN(3))}, tree{"s": "x", "more": []any{tree{"a": nil}}}, tree{})
}

// edit returns a partial object, for a merge patch or to be merged into what is known.
func (a author) edit(s step) any {
	object, meta := tree{}, tree{}
	a.metadata(meta, 3)
	if a.one(2) {
		a.content(s.resource, object)
	}
	if a.one(2) || s.subresource == "status" && !a.one(4) {
		object["status"] = a.status(s.resource)
	}
	if version := a.version(s); version != "" {
		meta["resourceVersion"] = version
	}
	switch a.IntN(24) {
	case 0, 1:
		meta["uid"] = pick[any](a, "<uid "+s.resource+"/"+s.name+">", "<olduid "+s.resource+"/"+s.name+">", "other")
	case 2:
		meta["resourceVersion"] = nil
	case 3:
		meta["deletionTimestamp"] = pick[any](a, "2001-01-01T00:00:00Z", nil)
	case 4:
		meta["deletionGracePeriodSeconds"] = pick[any](a, int64(3), nil)
	case 5:
		meta["generation"], meta["creationTimestamp"] = int64(99), "2001-01-01T00:00:00Z"
	case 6:
		meta["name"] = "other"
	case 7:
		meta["namespace"] = "elsewhere"
	case 8:
		object["status"] = nil
	case 9:
		return "no object"
	}
	object["metadata"] = meta
	if s.subresource != "" {
		delete(object, "more") // it changes managedFields, which the model does not have
	}
	return object
}

func (a author) version(s step) string {
	of := " " + s.resource + "/" + s.name + ">"
	return pick(a, "", "", "", "<rv"+of, "<rv"+of, "<old"+of, "1", "")
}

// content sets fields other than metadata and status.
func (a author) content(resource string, object tree) {
	switch resource {
	case "pods":
		object["spec"] = pick(a, tree{"hostNetwork": true}, tree{"terminationGracePeriodSeconds": int64(9)})
	case "services":
		object["spec"] = tree{"ports": []any{tree{"port": int64(80 + a.IntN(2))}}}
	case "configmaps":
		object["data"] = pick[any](a, tree{"k": "w"}, tree{"k": nil, "l": "x"}, nil)
	case "secrets":
		object["data"] = pick[any](a, tree{"k": "djI="}, tree{"k": nil, "l": "djM="}, nil)
	case "serviceaccounts":
		object["automountServiceAccountToken"] = a.one(2)
	case "roles":
		object["rules"] = pick[any](a, []any{rule("list")}, []any{rule("get"), rule("list")}, nil)
	case "rolebindings":
		object["subjects"] = pick[any](a, []any{subject("b")}, []any{subject("a"), subject("b")}, nil)
	case "tfjobs":
		object["spec"] = pick[any](a, tree{"n": int64(a.IntN(3))}, tree{"n": nil, "deep": tree{"a": tree{"b": 0.25}}}, nil, "text")
		if a.one(4) {
			object["more"] = int64(a.IntN(2))
		}
	case "pytorchjobs":
		object["spec"] = tree{"pytorchReplicaSpecs": tree{"Worker": tree{"replicas": int64(a.IntN(3))}}}
	}
}

// operations returns the operations of a JSON patch.
func (a author) operations(s step) any {
	var ops []any
	add := func(op, path string, value any) { ops = append(ops, tree{"op": op, "path": path, "value": value}) }
	if version := a.version(s); version != "" {
		add("replace", "/metadata/resourceVersion", version)
	}
	for range 1 + a.IntN(2) {
		switch a.IntN(12) {
		case 0, 1, 2:
			add("add", "/status", a.status(s.resource))
		case 3:
			add(pick(a, "add", "replace"), "/metadata/labels/x", pick(a, "0", "1"))
		case 4:
			add("add", "/metadata/labels", tree{"x": "1", "y": "2"})
		case 5:
			ops = append(ops, tree{"op": "remove", "path": pick(a, "/metadata/labels", "/metadata/finalizers/0", "/status", "/metadata/finalizers", "/metadata/ownerReferences")})
		case 6:
			add("add", pick(a, "/metadata/finalizers/-", "/metadata/finalizers/0"), "example.com/c")
		case 7:
			add("test", "/metadata/labels/x", pick(a, "0", "1"))
		case 8:
			ops = append(ops, tree{"op": pick(a, "move", "copy"), "from": "/metadata/labels", "path": "/metadata/annotations"})
		case 9:
			add("test", "/metadata/uid", pick(a, "<uid "+s.resource+"/"+s.name+">", "other"))
		case 10:
			add("replace", "/metadata/uid", "<olduid "+s.resource+"/"+s.name+">")
		case 11:
			add("add", "/metadata/finalizers", []any{"example.com/a"})
		}
	}
	return ops
}

func (a author) deletion(s *step) {
	options, conditions := tree{}, tree{}
	if a.one(2) {
		options["propagationPolicy"] = pick(a, "Background", "Foreground", "Orphan", "Background", "Foreground", "Nonsense")
	}
	if a.one(3) {
		options["gracePeriodSeconds"] = pick(a, int64(0), 0, 5, 3, -1)
	}
	of := " " + s.resource + "/" + s.name + ">"
	if a.one(3) {
		conditions["uid"] = pick(a, "<uid"+of, "<uid"+of, "<olduid"+of, "other")
	}
	if a.one(4) {
		conditions["resourceVersion"] = pick(a, "<rv"+of, "<rv"+of, "<old"+of)
	}
	switch {
	case len(conditions) > 0:
		options["preconditions"] = conditions
		s.body = options
	case a.one(3) && options["propagationPolicy"] != nil:
		s.query = fmt.Sprintf("?propagationPolicy=%v", options["propagationPolicy"])
	case !a.one(4):
		s.body = options
	}
}

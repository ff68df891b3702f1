package convert

import (
	"maps"
	"math"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
)

// metadataNode returns the schema of the metadata of an object, or of an embedded object. An API server decodes metadata into Go
// types, where null means absent.
func metadataNode(root bool) *schemaNode {
	one := func(kind string) *schemaNode { return &schemaNode{kind: kind, nullable: true} }
	moment := func() *schemaNode { n := one("string"); n.format = momentFormat; return n }
	number := func() *schemaNode {
		n := one("integer")
		n.whole = &Shape{form: integer, min: math.MinInt64, max: math.MaxInt64}
		return n
	}
	texts := one("object")
	texts.additional = one("string")
	listOf := func(item *schemaNode) *schemaNode { n := one("array"); n.items = item; return n }
	owner := one("object").with(map[string]*schemaNode{"apiVersion": one("string"), "kind": one("string"), "name": one("string"),
		"uid": one("string"), "controller": one("boolean"), "blockOwnerDeletion": one("boolean")})
	fields := one("object")
	fields.preserve = true
	manager := one("object").with(map[string]*schemaNode{"manager": one("string"), "operation": one("string"), "apiVersion": one("string"),
		"time": moment(), "fieldsType": one("string"), "fieldsV1": fields, "subresource": one("string")})
	generation := number()
	if root {
		generation.least.at = new(float64)
	}
	metadata := one("object")
	metadata.omits = true
	return metadata.with(map[string]*schemaNode{
		"name": one("string"), "generateName": one("string"), "namespace": one("string"), "selfLink": one("string"), "uid": one("string"),
		"resourceVersion": one("string"), "generation": generation, "creationTimestamp": moment(), "deletionTimestamp": moment(),
		"deletionGracePeriodSeconds": number(), "labels": texts, "annotations": texts, "finalizers": listOf(one("string")),
		"ownerReferences": listOf(owner), "managedFields": listOf(manager),
	})
}

// with sets the properties of a node.
func (n *schemaNode) with(properties map[string]*schemaNode) *schemaNode {
	n.properties = properties
	s := &Shape{fields: make(map[string]*field, len(properties))}
	for name := range properties {
		s.fields[name] = nil
	}
	n.names = s.named().names
	return n
}

// momentFormat is the format of a time in metadata, as Go reads it. It differs slightly from date-time, and no schema names it.
const momentFormat = "time of metadata"

func isMoment(v string) bool {
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}

// rootMetadata checks the name of the object, and what applies to all metadata.
func (in *inspection) rootMetadata(s *Schema, metadata any) {
	meta, ok := metadata.(map[string]any)
	if !ok && metadata != nil {
		return // reported as a wrong type
	}
	if generate, _ := meta["generateName"].(string); generate == "" {
		in.Required(meta, "name")
	}
	in.named(meta, "name", func(name string) bool { return dnsSubdomain(name) }, wantSubdomain, SuggestName)
	in.named(meta, "generateName", func(prefix string) bool { return dnsSubdomain(unhyphened(prefix)) }, wantSubdomain, nil)
	if s.namespaced {
		in.named(meta, "namespace", dnsLabel, wantLabel, SuggestName)
	}
	in.anyMetadata(meta, true)
}

// prefixLimit is how many bytes of generateName an API server uses. It appends five letters and digits.
const prefixLimit = 58

// generated fills in a name for generateName, as an API server might, because schemas constrain the generated name.
func generated(metadata any) any {
	meta, _ := metadata.(map[string]any)
	prefix, _ := meta["generateName"].(string)
	if name := meta["name"]; prefix == "" || name != nil {
		return metadata
	}
	meta = maps.Clone(meta)
	meta["name"] = prefix[:min(len(prefix), prefixLimit)] + "x2x4x"
	return meta
}

// unhyphened returns the prefix of a name as an API server validates it: a character replaces the dash at its end.
func unhyphened(prefix string) string {
	if len(prefix) > 1 && strings.HasSuffix(prefix, "-") {
		return prefix[:len(prefix)-1] + "a"
	}
	return prefix
}

// named checks a text of the metadata, unless it is empty.
func (in *inspection) named(meta map[string]any, key string, legal func(string) bool, want string, suggest func(string) string) {
	v, _ := meta[key].(string)
	if v == "" || legal(v) {
		return
	}
	hint := ""
	if suggest != nil {
		hint = suggest(v)
	}
	in.ProblemIn(key, schema.InvalidName, schema.Quote(v), want, hint)
}

// anyMetadata checks what applies to the metadata of any object.
func (in *inspection) anyMetadata(meta map[string]any, root bool) {
	in.labels(meta, "labels")
	in.annotations(meta)
	finalizers, _ := meta["finalizers"].([]any)
	in.Enter("finalizers")
	for i, raw := range finalizers {
		if v, ok := raw.(string); (ok || raw == nil) && !qualifiedName(v) {
			in.EnterItem(i)
			in.Problem(schema.InvalidName, schema.Quote(v), wantLabelKey, "")
			in.Leave()
		}
	}
	in.Leave()
	in.owners(meta, root)
}

// owners checks owner references. At the root an API server drops duplicates.
func (in *inspection) owners(meta map[string]any, root bool) {
	in.Enter("ownerReferences")
	defer in.Leave()
	owners, _ := meta["ownerReferences"].([]any)
	seen, controllers := map[string]bool{}, 0
	for i, raw := range owners {
		owner, ok := raw.(map[string]any)
		if !ok && raw != nil {
			continue
		}
		in.EnterItem(i)
		for _, key := range []string{"apiVersion", "kind", "name", "uid"} {
			in.Required(owner, key)
		}
		if again := string(canonical(owner)); owner["controller"] == true && !(root && seen[again]) {
			seen[again] = true
			if controllers++; controllers > 1 {
				in.ProblemIn("controller", schema.Conflict, "a second controller", "be the only one", "")
			}
		}
		in.Leave()
	}
}

// embedded checks what every embedded object must have.
func (in *inspection) embedded(n *schemaNode, value map[string]any) {
	for _, key := range []string{"apiVersion", "kind"} {
		raw, there := value[key]
		v, ok := raw.(string)
		switch {
		case there && !ok:
			if n.properties[key] == nil || n.properties[key].kind != "string" {
				in.Enter(key)
				in.mismatch(text, raw)
				in.Leave()
			}
		case v == "":
			in.ProblemIn(key, schema.MissingField, "", "be set", "")
		case key == "apiVersion":
			if _, err := runtimeschema.ParseGroupVersion(v); err != nil {
				in.ProblemIn(key, schema.InvalidValue, schema.Quote(v), `be a version, or a group and a version such as "apps/v1"`, "")
			}
		case len(validation.IsDNS1035Label(strings.ToLower(v))) > 0:
			in.ProblemIn(key, schema.InvalidName, schema.Quote(v), "be letters and digits, and start with a letter", "")
		}
	}
	meta, ok := value["metadata"].(map[string]any)
	if _, there := value["metadata"]; !there {
		return
	}
	in.Enter("metadata")
	defer in.Leave()
	in.inspect(n.metadata, value["metadata"])
	if !ok {
		return
	}
	segment := func(name string) bool { return name != "." && name != ".." && !strings.ContainsAny(name, "/%") }
	in.named(meta, "name", segment, `be neither "." nor ".." and have no "/" and no "%"`, nil)
	in.named(meta, "generateName", func(prefix string) bool { return !strings.ContainsAny(prefix, "/%") }, `have no "/" and no "%"`, nil)
	in.named(meta, "namespace", dnsLabel, wantLabel, SuggestName)
	in.anyMetadata(meta, false)
}

// scale checks the fields that the paths of the scale subresource lead to. An API server reads them by their Go types, whatever the
// schema says: 3.0 is no integer there, and null is neither an integer nor a string.
func (in *inspection) scale(sub *apiextensionsv1.CustomResourceSubresourceScale, prepared map[string]any) {
	if sub == nil {
		return
	}
	in.reach(sub.SpecReplicasPath, prepared, in.count)
	in.reach(sub.StatusReplicasPath, prepared, in.count)
	if sub.LabelSelectorPath == nil {
		return
	}
	in.reach(*sub.LabelSelectorPath, prepared, func(value any) {
		if _, ok := value.(string); !ok {
			in.mismatch(text, value)
		}
	})
}

// reach checks the value at a path such as .spec.replicas, if there is one.
func (in *inspection) reach(to string, prepared map[string]any, check func(any)) {
	at := in.at
	defer func() { in.at = at }()
	var value any = prepared
	for _, key := range strings.Split(strings.TrimPrefix(to, "."), ".") {
		if value == nil {
			return
		}
		fields, ok := value.(map[string]any)
		if !ok {
			in.mismatch(object, value)
			return
		}
		if value, ok = fields[key]; !ok {
			return
		}
		in.enterMember(fields, key)
	}
	check(value)
}

// count checks a number of replicas.
func (in *inspection) count(value any) {
	v, ok := numberOf(value)
	if !ok {
		in.mismatch(integer, value)
	} else if in.integral(&Shape{form: integer, max: math.MaxInt32}, v) && !v.whole {
		in.Problem(schema.TypeMismatch, in.found(v), in.wanted(integer), "write it without a fraction or an exponent")
	}
}

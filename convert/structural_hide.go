package convert

import (
	"slices"
	"strings"

	"stoic/schema"
)

// enterMember moves to a field of an object, or to the value of a map key. A structural schema does not name the Kubernetes types
// that it repeats, so credentials are recognized by the names of fields.
func (in *inspection) enterMember(within map[string]any, key string) {
	hidden := in.at.hidden() || in.at.holdsCredentials(within, key) || credentialIn(within, key)
	in.at = append(in.at, step{key: key, within: within, hidden: hidden})
}

// holdsCredentials reports whether a field below the path is one of those that ofCredentials names. The data of a Secret is
// recognized by its kind, or by the name of a field above it.
func (p path) holdsCredentials(within map[string]any, key string) bool {
	switch key {
	case "annotations", "env", "envFrom", "httpHeaders", "stringData", "volumeAttributes":
		return true
	case "options":
		return p.leadsTo("flexVolume")
	case "data":
		return within["kind"] == "Secret" || slices.ContainsFunc(p, func(s step) bool { return strings.Contains(strings.ToLower(s.key[:min(len(s.key), MaxKey)]), "secret") })
	}
	return false
}

// credentialIn reports whether the name of a field is one of a credential. An object in such a field has fields with names of their
// own. A field named value or valueFrom is judged by the field name beside it.
func credentialIn(within map[string]any, key string) bool {
	if key == "value" || key == "valueFrom" {
		name, _ := within["name"].(string)
		return secretive(name)
	}
	if _, ok := within[key].(map[string]any); ok {
		return false
	}
	name := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(key[:min(len(key), MaxKey)]), "-", ""), "_", "")
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "token", "secret", "credential", "credentials", "apikey", "privatekey", "secretkey"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// conceals reports whether a text may be a credential: by its place, or as an argument that names one or follows one that does.
// Other texts are repeated, because most are names or words of an enum.
func (in *inspection) conceals(v string) bool {
	return in.at.hidden() || in.at.inArguments() && secretive(v) || secretive(in.at.argumentBefore())
}

// inArguments reports whether the path leads to an item of a container's args or command.
func (p path) inArguments() bool {
	last := len(p) - 1
	return last > 0 && p[last].at && (p[last-1].key == "args" || p[last-1].key == "command")
}

// found describes a value with its type, and repeats it unless it may be a credential.
func (in *inspection) found(value any) string {
	if v, ok := value.(string); ok && in.conceals(v) {
		return "a string (not shown)"
	}
	return in.Reader.found(value)
}

// quoted returns a text as messages quote it, unless it may be a credential.
func (in *inspection) quoted(v string) string {
	if in.conceals(v) {
		return in.found(v)
	}
	return schema.Quote(v)
}

// conceals reports whether the schema declares that a value is a password.
func (n *schemaNode) conceals(value any) bool {
	return n.format == "password" && !isCompound(value) && value != nil
}

// shown is found for a value that the schema may declare to be a password.
func (in *inspection) shown(n *schemaNode, value any) string {
	if n.conceals(value) {
		return notShown(value)
	}
	return in.found(value)
}

// quotedAs is quoted for a text that the schema may declare to be a password.
func (in *inspection) quotedAs(n *schemaNode, v string) string {
	if n.format == "password" {
		return in.shown(n, v)
	}
	return in.quoted(v)
}

// mismatch reports a value of the wrong type. For a concealed text it gives no hint how to convert it, because that would reveal
// the text.
func (in *inspection) mismatch(want form, value any) {
	if v, ok := value.(string); ok && in.conceals(v) {
		in.Problem(schema.TypeMismatch, in.found(value), in.wanted(want), "")
		return
	}
	in.Reader.mismatch(want, value)
}

// mismatchAs is mismatch with the type of a schema, which may declare that the value is a password.
func (in *inspection) mismatchAs(n *schemaNode, value any) {
	if n.conceals(value) {
		in.Problem(schema.TypeMismatch, in.shown(n, value), in.wanted(n.form()), "")
		return
	}
	in.mismatch(n.form(), value)
}

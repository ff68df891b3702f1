package convert

import (
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
)

// unknown reports a field that its object does not have: where it belongs, or else which one was meant.
func (r *reader) unknown(s *shape, key string) {
	if r.warnings.skip(r.at) {
		return
	}
	if r.toldAsMissing(s, key) {
		return
	}
	if place := r.place(s, key); place != "" {
		r.warning(schema.MisplacedField, "", "", "`"+key+"` belongs in `"+place+"`")
		return
	}
	hint := ""
	if meant, ok := schema.Nearest(key, s.names); ok {
		hint = "did you mean `" + meant + "`?"
	} else if s.fields[r.kind.RolesField] != nil && rolesOfAnotherKind(key) {
		hint = "a " + r.kind.Name + " has `" + r.kind.RolesField + "`"
	}
	r.warning(schema.UnknownField, "", "", hint)
}

// toldAsMissing: what the field belongs in, or was to be, is not there, which is a problem with the same hint.
func (r *reader) toldAsMissing(s *shape, key string) bool {
	within := r.at[len(r.at)-1].within
	role := shapeOf(reflect.TypeFor[schema.ReplicaSpec]())
	switch s {
	case role:
		_, ok := within["spec"].(map[string]any)
		return key == "spec" && ok && within["template"] == nil
	case role.fields["template"].shape:
		return key == "containers" && within["spec"] == nil
	}
	return slices.ContainsFunc(s.needs, func(need string) bool { return absent(within[need]) && curtailed(key, need) })
}

// place is where a field belongs that does not belong where the walk is, if that is exactly one level away.
func (r *reader) place(s *shape, key string) string {
	below, places := "", 0
	for _, name := range s.names {
		if f := s.fields[name]; f.shape.form == object && f.shape.fields[key] != nil {
			below = name
			places++
		}
	}
	switch {
	case places == 1:
		return r.at.beside(below)
	case s.fields[r.kind.RolesField] != nil && r.kind.Role(key) != nil:
		return r.at.beside(r.kind.RolesField)
	}
	for i := len(r.at) - 2; i > 0; i-- {
		if above := r.at[i].shape; above != nil {
			if above.fields[key] != nil {
				return r.at[:i].String()
			}
			break
		}
	}
	return ""
}

// rolesOfAnotherKind: pytorchReplicaSpecs in a TFJob, or plain replicaSpecs.
func rolesOfAnotherKind(key string) bool {
	return len(key) <= keyLimit && strings.HasSuffix(strings.ToLower(key), "replicaspecs")
}

// misspelt names the one field that was probably meant to be the one that is missing.
func misspelt(fields map[string]any, missing string) (hint string) {
	for key := range fields {
		if _, near := schema.Nearest(key, []string{missing}); !near || key == missing {
			continue
		}
		if hint != "" {
			return ""
		}
		hint = "rename `" + schema.Clean(key, keyLimit) + "`"
	}
	return hint
}

// curtailed: one of the two names is the other without its first words, as name is secretName.
func curtailed(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > 3 && len(short) < len(long) && strings.HasSuffix(long, short)
}

// oneOf is the requirement to be one of a few words.
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	return "be one of " + strings.Join(quoted, ", ")
}

// choice reports a word that is not one of those that may stand there.
func (r *reader) choice(word string, words []string) {
	hint := ""
	if meant, ok := schema.Nearest(word, words); ok {
		hint = `did you mean "` + meant + `"?`
	}
	r.problem(schema.InvalidValue, r.quoted(word), oneOf(words), hint)
}

package convert

import (
	"strings"

	"github.com/agnivade/levenshtein"

	"stoic/schema"
)

// unknown reports a field that its object does not have: where it belongs, or else which one was meant.
func (r *reader) unknown(s *shape, key string) {
	if r.warnings.skip() {
		return
	}
	if place := r.place(s, key); place != "" {
		r.warning(schema.MisplacedField, "", "", "`"+key+"` belongs in `"+place+"`")
		return
	}
	hint := ""
	if meant, ok := nearest(key, s.names); ok {
		hint = "did you mean `" + meant + "`?"
	} else if s.fields[r.kind.RolesField] != nil && rolesOfAnotherKind(key) {
		hint = "a " + r.kind.Name + " has `" + r.kind.RolesField + "`"
	}
	r.warning(schema.UnknownField, "", "", hint)
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

// nearest is the one known word that word was probably meant to be: at most two letters off, fewer in short
// words, regardless of case; none if two are equally near.
func nearest(word string, known []string) (string, bool) {
	if word == "" || len(word) > keyLimit {
		return "", false
	}
	limit := min(2, 1+len(word)/4)
	lower := strings.ToLower(word)
	best, meant, unique := limit+1, "", false
	for _, k := range known {
		if d := len(k) - len(word); d > limit || d < -limit {
			continue
		}
		switch d := levenshtein.ComputeDistance(lower, strings.ToLower(k)); {
		case d < best:
			best, meant, unique = d, k, true
		case d == best:
			unique = false
		}
	}
	return meant, unique && best <= limit
}

// oneOf is the requirement to be one of a few words.
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	return "be one of " + strings.Join(quoted, ", ")
}

// choice reports a word in a field that is not one of those that may stand there.
func (r *reader) choice(field, word string, words []string) {
	hint := ""
	if meant, ok := nearest(word, words); ok {
		hint = `did you mean "` + meant + `"?`
	}
	r.problemIn(field, schema.InvalidValue, schema.Quote(word), oneOf(words), hint)
}

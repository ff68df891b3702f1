package convert

import (
	"strings"

	"github.com/agnivade/levenshtein"

	"stoic/schema"
)

// unknown reports a field that its object does not have: where it belongs, or else which one was meant.
func (r *reader) unknown(p *path, s *shape) {
	if r.warnings.full() {
		r.warnings.count++
		return
	}
	if place := r.place(p, s); place != "" {
		r.warning(p, schema.MisplacedField, "", "", "`"+p.key+"` belongs in `"+place+"`")
		return
	}
	hint := ""
	if meant, ok := nearest(p.key, s.names); ok {
		hint = "did you mean `" + meant + "`?"
	} else if s.fields[r.kind.RolesField] != nil && rolesOfAnotherKind(p.key) {
		hint = "a " + r.kind.Name + " has `" + r.kind.RolesField + "`"
	}
	r.warning(p, schema.UnknownField, "", "", hint)
}

// place is where a field belongs that does not belong at p, if it is exactly one level away.
func (r *reader) place(p *path, s *shape) string {
	found, places := "", 0
	for _, name := range s.names {
		if f := s.fields[name]; f.shape.form == object && f.shape.fields[p.key] != nil {
			inner := path{parent: p.parent, key: name}
			found = inner.String()
			places++
		}
	}
	if places == 1 {
		return found
	}
	if s.fields[r.kind.RolesField] != nil && r.kind.Role(p.key) != nil {
		inner := path{parent: p.parent, key: r.kind.RolesField}
		return inner.String()
	}
	for above := p.parent; above != nil; above = above.parent {
		if above.shape == nil {
			continue
		}
		if above.shape.fields[p.key] != nil && above.parent != nil {
			return above.parent.String()
		}
		break
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

// choice reports a word that is not one of those that may stand at p.
func (r *reader) choice(p *path, word string, words []string) {
	hint := ""
	if meant, ok := nearest(word, words); ok {
		hint = `did you mean "` + meant + `"?`
	}
	r.problem(p, schema.InvalidValue, schema.Quote(word), oneOf(words), hint)
}

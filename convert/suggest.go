package convert

import (
	"slices"
	"strings"

	"stoic/schema"
)

// unknown warns of a field that its object does not have, with the place where it belongs, or else the name that was probably
// meant.
func (r *Reader) unknown(s *Shape, key string) {
	if r.warnings.skip(r.at) {
		return
	}
	within := r.at[len(r.at)-1].within
	var advice Advice
	if s.advise != nil {
		advice = s.advise(within, key)
	}
	if advice.Silent || s.reportedAsMissing(within, key) {
		return
	}
	if place := r.place(s, key, advice.In); place != "" {
		r.Warning(schema.MisplacedField, "", "", "`"+key+"` belongs in `"+place+"`")
		return
	}
	hint := advice.Hint
	if meant, ok := schema.Nearest(key, s.names); ok {
		hint = "did you mean `" + meant + "`?"
	}
	r.Warning(schema.UnknownField, "", "", hint)
}

// reportedAsMissing reports whether the field was probably meant to be a missing one, whose problem has the same hint.
func (s *Shape) reportedAsMissing(within map[string]any, key string) bool {
	return slices.ContainsFunc(s.needs, func(need string) bool { return absent(within[need]) && curtailed(key, need) }) ||
		slices.ContainsFunc(s.required, func(need string) bool { return within[need] == nil && curtailed(key, need) })
}

// place returns the path where a misplaced field belongs, if that is exactly one level away. That is below the only sibling that
// has a field of its name, below known, or in the object around.
func (r *Reader) place(s *Shape, key, known string) string {
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
	case known != "":
		return r.at.beside(known)
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

// Misspelt returns a hint to rename the one field that was probably meant to be the missing one.
func Misspelt(fields map[string]any, missing string) (hint string) {
	for key := range fields {
		if _, near := schema.Nearest(key, []string{missing}); !near || key == missing {
			continue
		}
		if hint != "" {
			return ""
		}
		hint = "rename `" + schema.Clean(key, MaxKey) + "`"
	}
	return hint
}

// curtailed reports whether one of the names is the other without its first words: name and secretName.
func curtailed(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > 3 && len(short) < len(long) && strings.HasSuffix(long, short)
}

// OneOf returns the requirement to be one of a few words.
func OneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	if len(quoted) == 1 {
		return "be " + quoted[0]
	}
	return "be one of " + strings.Join(quoted, ", ")
}

// choice reports a word that is not one of the allowed words.
func (r *Reader) choice(word string, words []string) {
	r.Problem(schema.InvalidValue, r.quoted(word), OneOf(words), schema.DidYouMean(word, words, ""))
}

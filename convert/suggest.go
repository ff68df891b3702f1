package convert

import (
	"slices"
	"strings"

	"stoic/schema"
)

// unknown reports a field that its object does not have: where it belongs, or else which one was meant.
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

// reportedAsMissing: what the field was to be is not there, which is a problem with the same hint.
func (s *Shape) reportedAsMissing(within map[string]any, key string) bool {
	return slices.ContainsFunc(s.needs, func(need string) bool { return absent(within[need]) && curtailed(key, need) }) ||
		slices.ContainsFunc(s.required, func(need string) bool { return within[need] == nil && curtailed(key, need) })
}

// place is where a field belongs that does not belong where the walk is, if that is exactly one level away: below the
// only field that has one of its name, or below the one that is known to be it.
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

// Misspelt names the one field that was probably meant to be the one that is missing.
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

// curtailed: one of the two names is the other without its first words, as name is secretName.
func curtailed(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) > 3 && len(short) < len(long) && strings.HasSuffix(long, short)
}

// OneOf is the requirement to be one of a few words.
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

// choice reports a word that is not one of those that may stand there.
func (r *Reader) choice(word string, words []string) {
	r.Problem(schema.InvalidValue, r.quoted(word), OneOf(words), schema.DidYouMean(word, words, ""))
}

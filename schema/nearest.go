package schema

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	// KnownLimit is how many names a word is compared with: more than any object of the API has fields.
	KnownLimit = 200
	wordLimit  = 60 // bytes of a word that may be a slip for a name
)

// DidYouMean is the hint to write the one known word that word was probably meant to be, or else the other hint.
func DidYouMean(word string, known []string, otherwise string) string {
	if meant, ok := Nearest(word, known); ok {
		return `did you mean "` + meant + `"?`
	}
	return otherwise
}

// Nearest is the one known word that word was probably meant to be: at most two letters off, fewer in short
// words, regardless of case; none if two are equally near. Words of three letters have the first in common, as tpu is
// no slip for cpu. It does not search lists of which no one has the names in mind.
func Nearest(word string, known []string) (string, bool) {
	if word == "" || len(word) > wordLimit || len(known) > KnownLimit {
		return "", false
	}
	limit := min(2, 1+len(word)/4)
	lower := strings.ToLower(word)
	best, meant, unique := limit+1, "", false
	for _, k := range known {
		if d := len(k) - len(word); d > limit || d < -limit || len(word) <= 3 && (k == "" || lower[0] != strings.ToLower(k[:1])[0]) {
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

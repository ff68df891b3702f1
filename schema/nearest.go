package schema

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	// KnownLimit bounds the names that a word is compared with. No object of the API has more fields.
	KnownLimit = 200
	wordLimit  = 60 // bytes of a word that may be a slip for a name
)

// DidYouMean returns the hint to write the one known name that word probably stands for, or otherwise if there is no such name.
func DidYouMean(word string, known []string, otherwise string) string {
	if meant, ok := Nearest(word, known); ok {
		return `did you mean "` + meant + `"?`
	}
	return otherwise
}

// Nearest returns the one known name that word probably stands for. Case does not count. At most two letters differ, fewer in short
// words. It finds none if two names are equally near. Words of up to three letters must share the first letter: tpu is no slip for
// cpu. It does not search more than KnownLimit names, because no one has that many in mind.
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

package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with an object, in words for the user who wrote it.
//
//	<Path>: found <Found>, must <Want>; <Hint>
//
// Found, Want and Hint may be empty. Every string is clean: valid UTF-8, one line, bounded.
type Problem struct {
	Code  Code
	Path  string // JSON path in kubectl's spelling: spec.tfReplicaSpecs.Worker.template.spec.containers[0].args[1]
	Found string // the value with its type: string "4", number 3, an object; empty where nothing was found
	Want  string // the requirement, to follow "must": "be an integer"
	Hint  string // one fix: "remove the quotes"
}

// Code classifies problems. The list is closed: it is a metric label and the topic of an explanation. Adding a code is a minor
// change, renaming one breaks users.
type Code string

// The codes; Meaning says what each is, and Remedy what to do about it.
const (
	TypeMismatch       Code = "TypeMismatch"
	UnknownField       Code = "UnknownField"
	MisplacedField     Code = "MisplacedField"
	MissingField       Code = "MissingField"
	InvalidValue       Code = "InvalidValue"
	OutOfRange         Code = "OutOfRange"
	UnknownReplicaType Code = "UnknownReplicaType"
	ReplicaCount       Code = "ReplicaCount"
	MissingContainer   Code = "MissingContainer"
	DuplicateName      Code = "DuplicateName"
	Conflict           Code = "Conflict"
	Immutable          Code = "Immutable"
	InvalidName        Code = "InvalidName"
	TooLarge           Code = "TooLarge"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{TypeMismatch, UnknownField, MisplacedField, MissingField, InvalidValue, OutOfRange,
		UnknownReplicaType, ReplicaCount, MissingContainer, DuplicateName, Conflict, Immutable, InvalidName, TooLarge}
}

// String is the sentence that events, conditions and validate print.
func (p Problem) String() string {
	var b strings.Builder
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	switch {
	case p.Found != "" && p.Want != "":
		b.WriteString("found " + p.Found + ", must " + p.Want)
	case p.Want != "":
		b.WriteString("must " + p.Want)
	case p.Code == UnknownField:
		b.WriteString("unknown field")
	case p.Code == MisplacedField && p.Found == "":
		b.WriteString("unknown field here")
	default:
		b.WriteString("found " + p.Found)
	}
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

const (
	// MaxSummary bounds the text of a condition, in bytes.
	MaxSummary = 1000
	// MaxReported is how many problems are reported one by one; the rest is a count.
	MaxReported = 5
)

// Summarize reports all problems, and how many more there are, in one line of at most MaxSummary bytes:
//
//	3 problems, no pods were created: [1] spec.a: ... [2] ... [3] ... Edit the job to retry.
//
// The consequence ("no pods were created") comes first.
func Summarize(problems []Problem, more int, consequence, advice string) string {
	const reserve = 60 // for "... and N more" and its neighbours
	noun, count := "problems", len(problems)+more
	if count == 1 {
		noun = "problem"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s, %s:", count, noun, consequence)
	reported := 0
	for i, p := range problems {
		if i == MaxReported {
			break
		}
		line := fmt.Sprintf(" [%d] %s", i+1, p)
		if !strings.HasSuffix(line, "?") {
			line += "."
		}
		room := MaxSummary - reserve - len(advice) - b.Len()
		if len(line) > room {
			if reported > 0 {
				break
			}
			line = Cut(line, room)
		}
		b.WriteString(line)
		reported++
	}
	if more = count - reported; more > 0 {
		fmt.Fprintf(&b, " ... and %d more; run `stoic validate`.", more)
	}
	if advice != "" {
		b.WriteString(" " + advice)
	}
	return b.String()
}

// SortProblems orders problems by path, then by text, and removes duplicates. So the text made of them is the same each time, and
// no needless write happens.
func SortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, Problem.Compare)
	return slices.Compact(problems)
}

// Compare orders problems by path, then by text, then by code.
func (p Problem) Compare(q Problem) int {
	if c := ComparePaths(p.Path, q.Path); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(p.String(), q.String()), strings.Compare(string(p.Code), string(q.Code)))
}

// ComparePaths orders paths as text, but numbers by value: args[2] comes before args[10].
func ComparePaths[A, B string | []byte](a A, b B) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		// If two numbers have a common prefix, the longer one is larger; at equal length the first digit that differs decides.
		if more := digits(a[i:]) - digits(b[i:]); more != 0 && (i > 0 && digits(a[i-1:i]) == 1 || digits(a[i:]) > 0 && digits(b[i:]) > 0) {
			return more
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits at the beginning of a text.
func digits[T string | []byte](text T) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

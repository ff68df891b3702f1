package integration

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// customException is an intended disagreement about custom resources.
type customException struct {
	what, reason string
	holds        func(customFinding) bool
	// depends: the processor decides whether there is such a disagreement.
	depends bool
}

// excuseCustom returns the exception that covers a disagreement, if there is one.
func excuseCustom(f customFinding) *customException {
	all := customExceptions()
	if i := slices.IndexFunc(all, func(e customException) bool { return e.holds(f) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// each reports whether all of our problems are so.
func (f customFinding) each(so func(schema.Problem) bool) bool {
	return len(f.ours.Problems) > 0 && !slices.ContainsFunc(f.ours.Problems, func(p schema.Problem) bool { return !so(p) })
}

// customExceptions returns all of them.
func customExceptions() []customException {
	return append(refusedCustoms(), takenCustoms()...)
}

// refusedCustoms returns what we reject although the API server accepts it.
func refusedCustoms() []customException {
	ours := func(want string) func(customFinding) bool {
		return func(f customFinding) bool {
			return f.refusal == nil && f.each(func(p schema.Problem) bool { return strings.HasPrefix(p.Want, want) })
		}
	}
	return []customException{
		{
			what:   "list where a string has a format",
			reason: "the API server forgets the type of such a string if it finds a list; whoever reads the object would fail of it",
			holds: func(f customFinding) bool {
				return f.refusal == nil && f.each(func(p schema.Problem) bool { return p.Found == "a list" && p.Want == "be a string" })
			},
		},
		{
			what:   "integer that is no multiple of a factor with a fraction",
			reason: "the API server cuts the fraction off the factor before it divides an integer",
			holds:  ours("be a multiple of 2.5"),
		},
		{
			what:   "integer below a bound with a fraction",
			reason: "the API server cuts the fraction off the bound before it compares an integer",
			holds:  ours("be greater than or equal to 3.5"),
		},
		{
			what:   "integer above a bound with a fraction",
			reason: "the API server cuts the fraction off the bound before it compares an integer",
			holds:  ours("be less than or equal to -0.5"),
		},
		{
			what:   "number with a fraction that is none of an enum of integers",
			reason: "the API server cuts the fraction off the number before it compares",
			holds:  ours("be one of 1, 2"),
		},
		{
			what:   "number that is nearly an integer where an integer or a string must be",
			reason: "the API server takes a relative error of 1e-9 for none; whoever reads the object would fail of it",
			holds:  ours("be an integer or a string"),
		},
		{
			what:   "more than 64 levels in fields without a schema",
			reason: "no author writes such an object, and everything that walks it would need as many levels",
			holds:  ours("be nested less deeply"),
		},
	}
}

// takenCustoms returns what we accept although the API server rejects it.
func takenCustoms() []customException {
	const noFactor, otherBound = "factor MultipleOf declared for spec.part must be positive", "should be less than or equal to -9223372036854775808"
	// Two of these may occur together.
	theirs := func(message string) func(customFinding) bool {
		return func(f customFinding) bool {
			if len(f.ours.Problems) > 0 || f.refusal == nil || f.refusal.ErrStatus.Details == nil {
				return false
			}
			causes := f.refusal.ErrStatus.Details.Causes
			return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return strings.Contains(c.Message, message) }) &&
				!slices.ContainsFunc(causes, func(c metav1.StatusCause) bool {
					return !strings.Contains(c.Message, noFactor) && !strings.Contains(c.Message, otherBound)
				})
		}
	}
	return []customException{
		{
			what:   "integer and a factor below 1",
			reason: "the API server makes 0 of the factor and refuses every integer, whatever the schema means",
			holds:  theirs(noFactor),
		},
		{
			what:    "integer and a bound beyond 64 bits",
			reason:  "the API server makes another number of the bound, which depends on the processor",
			holds:   theirs(otherBound),
			depends: true,
		},
		{
			what:   "integer whose bound has a fraction",
			reason: "the API server refuses every value of such a field, whatever the schema means",
			holds: func(f customFinding) bool {
				return len(f.ours.Problems) == 0 && f.refusal != nil && strings.Contains(f.refusal.ErrStatus.Message, "Maximum boundary value must be of type integer")
			},
		},
	}
}

// oddCustoms returns objects that show exceptions to which no mutation leads.
func oddCustoms(all []*definition) (trials []customTrial) {
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	for _, odd := range []struct {
		what string
		spec map[string]any
	}{
		{"int or string", map[string]any{"bare": 1000000000.5}},
		{"anything", map[string]any{"any": deep}},
		{"multiples", map[string]any{"half": int64(4)}},
		{"bounds that are no integers", map[string]any{"integer": int64(1)}},
		{"bounds that are no integers", map[string]any{"low": int64(3)}},
		{"bounds that are no integers", map[string]any{"high": int64(0)}},
		{"bounds that are no integers", map[string]any{"part": int64(1)}},
		{"bounds that are no integers", map[string]any{"vast": int64(1)}},
		{"bounds that are no integers", map[string]any{"enum": 1.5}},
		{"formats of times", map[string]any{"at": []any{}}},
	} {
		at := slices.IndexFunc(all, func(d *definition) bool { return d.What == odd.what })
		trials = append(trials, customTrial{definition: all[at], object: all[at].object(odd.spec), changes: []string{"odd"}})
	}
	return trials
}

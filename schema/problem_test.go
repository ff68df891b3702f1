package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/test/source"
)

func TestProblemString(t *testing.T) {
	for want, p := range map[string]Problem{
		`spec.a: found string "4", must be an integer; remove the quotes`: {TypeMismatch, "spec.a", `string "4"`, "be an integer", "remove the quotes"},
		`spec.a: found string "4", must be an integer`:                    {TypeMismatch, "spec.a", `string "4"`, "be an integer", ""},
		"spec.a: must be set": {MissingField, "spec.a", "", "be set", ""},
		"spec.comand: unknown field; did you mean `command`?": {UnknownField, "spec.comand", "", "", "did you mean `command`?"},
		"spec.x: unknown field here; `x` belongs in `spec.y`": {MisplacedField, "spec.x", "", "", "`x` belongs in `spec.y`"},
		"spec.comand: unknown field":                          {UnknownField, "spec.comand", "", "", ""},
		`found "x"; rename it`:                                {Conflict, "", `"x"`, "", "rename it"},
		"must be smaller":                                     {TooLarge, "", "", "be smaller", ""},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSummarize(t *testing.T) {
	one := Problem{Path: "spec.a", Want: "be set"}
	long := Problem{Path: "spec.b", Want: "be " + strings.Repeat("z", 500)}
	huge := Problem{Path: "spec.c", Want: "be " + strings.Repeat("z", 5000)}
	for name, test := range map[string]struct {
		problems []Problem
		more     int
		want     string
	}{
		"one":     {[]Problem{one}, 0, "1 problem, no pods were created: [1] spec.a: must be set. Edit."},
		"two":     {[]Problem{one, one}, 0, "2 problems, no pods were created: [1] spec.a: must be set. [2] spec.a: must be set. Edit."},
		"seven":   {slices.Repeat([]Problem{one}, 7), 0, "7 problems, no pods were created:" + " [1] spec.a: must be set. [2] spec.a: must be set. [3] spec.a: must be set. [4] spec.a: must be set. [5] spec.a: must be set. ... and 2 more; run `stoic validate`. Edit."},
		"counted": {[]Problem{one}, 6, "7 problems, no pods were created: [1] spec.a: must be set. ... and 6 more; run `stoic validate`. Edit."},
		"long":    {[]Problem{long, long, one}, 0, "3 problems, no pods were created: [1] " + long.String() + ". ... and 2 more; run `stoic validate`. Edit."},
		"huge":    {[]Problem{huge}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Summarize(test.problems, test.more, "no pods were created", "Edit.")
			if diff := cmp.Diff(test.want, got); test.want != "" && diff != "" {
				t.Error(diff)
			}
			if len(got) > MaxSummary {
				t.Error(len(got), "bytes")
			}
		})
	}
}

// TestComparePaths: paths have a total order, and it is the one that readers expect.
func TestComparePaths(t *testing.T) {
	ordered := []string{"", "a", "a.b", "a.b1", "a.b1c", "a.b2", "a.b12", "a[0]", "a[1].b", "a[2]", "a[10]", "a[10].b", "a[11]", "a[100]", "ab"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := ComparePaths(a, []byte(b)); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
	path := rapid.StringMatching(`[ab]?[0-9]{0,3}(\[[0-9]{1,3}\])?\.?[a0]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := path.Draw(t, "a"), path.Draw(t, "b"), path.Draw(t, "c")
		if (ComparePaths(a, b) > 0) != (ComparePaths(b, a) < 0) || (ComparePaths(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q", a, b)
		}
		if ComparePaths(a, b) < 0 && ComparePaths(b, c) < 0 && ComparePaths(a, c) >= 0 {
			t.Fatalf("%q, %q, %q", a, b, c)
		}
	})
}

func TestEveryCodeExplainsItself(t *testing.T) {
	for _, c := range Codes() {
		for what, text := range map[string]string{"meaning": c.Meaning(), "remedy": c.Remedy(), "severity": c.Severity()} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s of %s is not a sentence in one line: %q", what, c, text)
			}
		}
	}
	if c := Code("Nonsense"); c.Meaning() != "" || c.Remedy() != "" || c.Severity() != "" {
		t.Error("a code that does not exist has a meaning")
	}
}

func TestCodesListsAll(t *testing.T) {
	declared := source.Constants(t, "problem.go", func(_, kind string) bool { return kind == "Code" })
	var listed []string
	for _, c := range Codes() {
		listed = append(listed, string(c))
	}
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %v\nlisted %v", declared, listed)
	}
}

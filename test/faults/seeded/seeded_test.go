package seeded

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var all = flag.Bool("all", false, "switch every bug on, not only the first two")

const root = "../../.."

// withoutAll is how many bugs are switched on by default: each costs a compilation.
const withoutAll = 2

// TestBugsCanBeSwitchedOn: every patch fits, the result compiles, and the test that must notice it exists.
func TestBugsCanBeSwitchedOn(t *testing.T) {
	bugs, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) < 25 {
		t.Errorf("%d bugs", len(bugs))
	}
	compiler := newCompiler(t)
	for _, b := range bugs {
		patched, err := b.Patched(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := compiler.check(patched); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if !declares(b.Package, b.Run) {
			t.Errorf("%s: %s has no test %s", b.Name, b.Package, b.Run)
		}
		for _, file := range slices.Sorted(maps.Keys(patched)) {
			if unpatched, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(unpatched) == patched[file] {
				t.Errorf("%s changes nothing in %s (%v)", b.Name, file, err)
			}
		}
		if strings.HasSuffix(b.Wrong, ".") || strings.Contains(b.Wrong, ". ") {
			t.Errorf("%s: one sentence, without the stop: %q", b.Name, b.Wrong)
		}
	}
}

// TestEachBugIsCaught runs go test with each bug in turn, two at a time.
func TestEachBugIsCaught(t *testing.T) {
	bugs, err := All()
	if err != nil {
		t.Fatal(err)
	}
	byName := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	places := make(chan struct{}, 2)
	var noticed atomic.Int64
	t.Cleanup(func() { fmt.Printf("bugs %d, each switched on and caught\n", noticed.Load()) })
	for i, b := range bugs {
		if !*all && !byName && i >= withoutAll {
			break
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), b.Within+10*time.Minute) // with time for the compilation
			defer cancel()
			caught, output, err := b.Catch(ctx, root)
			took := time.Since(begin).Round(100 * time.Millisecond)
			switch {
			case err != nil:
				t.Error(err)
			case !caught:
				t.Errorf("%s is not noticed by %s %s (%s):\n%s", b.Reference, b.Package, b.Run, took, output)
			default:
				noticed.Add(1)
				t.Logf("caught in %5s by %s: %s: %s", took, noticing(output), b.Reference, b.Wrong)
			}
		})
	}
}

// noticing returns the innermost test that failed first, or what ended the process.
func noticing(output string) string {
	first := ""
	for line := range strings.Lines(output) {
		name, failed := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: ")
		name, _, _ = strings.Cut(name, " ")
		switch {
		case failed && strings.HasPrefix(name, first):
			first = name
		case strings.HasPrefix(line, "panic: "):
			return strings.TrimSpace(line)
		}
	}
	return first
}

// TestPatchThatDoesNotFit: a bug that can no longer be switched on is an error.
func TestPatchThatDoesNotFit(t *testing.T) {
	for text, fits := range map[string]bool{"a\nb\nc\n": true, "a\nc\n": false, "b\nb\n": false, "ab\n": false, "b\n": true} {
		got, err := Edit{Before: "b\n", After: "x\ny\n"}.apply(text)
		if (err == nil) != fits || fits && got != strings.Replace(text, "b\n", "x\ny\n", 1) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := (Edit{After: "x\n"}).apply("a\n"); err == nil {
		t.Error("nothing was found")
	}
}

func TestParse(t *testing.T) {
	const head, pair = "reference: r\nfound: f\nwrong: w\ncatch: ./p TestX/y z\n", "-- before f.go --\na\n-- after f.go --\n"
	b, err := parse("n", []byte(head+pair+pair))
	if err != nil || b.Package != "./p" || b.Run != "TestX/y z" || len(b.Edits) != 2 || b.Edits[0] != (Edit{"f.go", "a\n", ""}) {
		t.Errorf("%+v, %v", b, err)
	}
	for _, wrong := range []string{head, pair, head + "-- before f.go --\n", head + "-- before f.go --\n-- after g.go --\n", head + "more: x\n" + pair, "reference: r\n" + pair, head + "within: x\n" + pair} {
		if _, err := parse("n", []byte(wrong)); err == nil {
			t.Errorf("read without complaint:\n%s", wrong)
		}
	}
}

// TestCatchTellsApart: a bug that no test notices is not caught, and one that cannot be tried is an error.
func TestCatchTellsApart(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	harmless := Bug{Name: "harmless", Package: "./test/faults/seeded", Run: "^TestParse$",
		Edits: []Edit{{"test/faults/seeded/bug.go", "// All returns the bugs, in order of name.\n", "// Another comment.\n"}}}
	if caught, output, err := harmless.Catch(t.Context(), root); caught || err != nil {
		t.Errorf("a bug that does no harm: %v, %v\n%s", caught, err, output)
	}
	nowhere := harmless
	nowhere.Run = "^TestThatIsNotThere$"
	broken := harmless
	broken.Edits = []Edit{{"test/faults/seeded/bug.go", "// All returns the bugs, in order of name.\n", "var x = y\n"}}
	gone := harmless
	gone.Edits = []Edit{{"test/faults/seeded/bug.go", "// There is no such line.\n", ""}}
	for _, b := range []Bug{nowhere, broken, gone} {
		if caught, _, err := b.Catch(t.Context(), root); caught || err == nil {
			t.Errorf("%s %s %q: %v, %v", b.Package, b.Run, b.Edits[0].After, caught, err)
		}
	}
}

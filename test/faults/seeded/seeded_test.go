package seeded

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stoic/test/operator"
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
	if len(bugs) < 100 {
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
		for _, e := range b.Edits {
			if e.Before == e.After {
				t.Errorf("%s changes nothing in %s", b.Name, e.File)
			}
		}
		if strings.HasSuffix(b.Wrong, ".") || strings.Contains(b.Wrong, ". ") {
			t.Errorf("%s: one sentence, without the stop: %q", b.Name, b.Wrong)
		}
	}
}

// declares reports whether a test file of a package has a test that go test -run would run for the first part of a pattern.
func declares(folder, run string) bool {
	name := strings.Trim(strings.Split(run, "/")[0], "^$")
	files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}

// TestEachBugIsCaught runs go test with each bug in turn, two at a time.
func TestEachBugIsCaught(t *testing.T) {
	byName := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if !*all && !byName {
		operator.Full(t)
	}
	bugs, err := All()
	if err != nil {
		t.Fatal(err)
	}
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
				t.Logf("caught in %5s: %s: %s", took, b.Reference, b.Wrong)
			}
		})
	}
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
	operator.Full(t)
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

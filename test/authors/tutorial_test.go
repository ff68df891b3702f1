package authors

import (
	"go/format"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root = "../.."
	page = root + "/docs/authors.md"
)

// tutorial returns the steps of the page.
func tutorial(t *testing.T) []Step {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Parse(string(text), "A tutorial")
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if len(steps) != 8 {
		t.Fatalf("%s has %d steps", page, len(steps))
	}
	return steps
}

// folders returns the reader's files after each step.
func folders(t *testing.T, steps []Step) (all []Folder) {
	t.Helper()
	f := Folder{}
	for _, s := range steps {
		for _, b := range s.Blocks {
			if err := f.Take(b); err != nil {
				t.Fatalf("%s:%d: %v", page, b.Line, err)
			}
		}
		now := Folder{}
		for name, text := range f {
			now[name] = text
		}
		all = append(all, now)
	}
	return all
}

// TestPage: every Go file is formatted after each step.
func TestPage(t *testing.T) {
	all := folders(t, tutorial(t))
	for i, f := range all {
		for name, text := range f {
			if filepath.Ext(name) != ".go" {
				continue
			}
			formatted, err := format.Source([]byte(text))
			if err != nil {
				t.Fatalf("step %d: %s: %v", i+1, name, err)
			}
			if diff := cmp.Diff(string(formatted), text); diff != "" {
				t.Errorf("step %d: %s (-formatted +page):\n%s", i+1, name, diff)
			}
		}
	}
}

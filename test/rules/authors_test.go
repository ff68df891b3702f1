package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoted finds what stands between backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestAuthorsPage: in docs/authors.md each promise names tests that there are and that can fail, and so does each of the ten
// mistakes, with a function of the engine.
func TestAuthorsPage(t *testing.T) {
	page := read(t, "docs/authors.md")
	promises := rows(section(page, "What the engine promises"))
	if len(promises) < 20 {
		t.Errorf("%d promises", len(promises))
	}
	for _, row := range promises {
		shownBy(t, row, row[len(row)-1])
	}
	mistakes := rows(section(page, "Ten mistakes that operators make"))
	if len(mistakes) != 10 {
		t.Errorf("%d mistakes", len(mistakes))
	}
	for _, row := range mistakes {
		place, tests, _ := strings.Cut(row[len(row)-1], "; ")
		if err := inEngine(strings.Trim(place, "`")); err != nil {
			t.Errorf("%v: %v", row[0], err)
		}
		shownBy(t, row, tests)
	}
	for _, wrong := range []string{"controller/apply/applier.go: Nothing", "controller/none.go: Apply", "Apply"} {
		if inEngine(wrong) == nil {
			t.Errorf("%s is said to be there", wrong)
		}
	}
}

// shownBy: a cell is a list of tests, and each is there.
func shownBy(t *testing.T, row []string, cell string) {
	t.Helper()
	found := quoted.FindAllStringSubmatch(cell, -1)
	if len(found) == 0 || quoted.ReplaceAllString(cell, "") != strings.Repeat(", ", len(found)-1) {
		t.Errorf("%v: not a list of tests: %s", row[0], cell)
	}
	for _, m := range found {
		if err := shownIn(engineFolders(), m[1]); err != nil {
			t.Errorf("%v: %s: %v", row[0], m[1], err)
		}
	}
}

// engineFolders are those of the packages that the page names: convert is the engine's, not that of training jobs.
func engineFolders() map[string]string {
	all := maps.Clone(folders)
	maps.Copy(all, map[string]string{"convert": "convert", "election": "controller/election", "watch": "controller/watch", "foobar": "examples/operators/foobar", "faults": "test/faults", "authors": "test/authors", "comparison": "tools/comparison"})
	return all
}

// inEngine says what is wrong with the place of a function: file, colon, name.
func inEngine(place string) error {
	file, name, _ := strings.Cut(place, ": ")
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + regexp.QuoteMeta(name) + `[\[(]`).Match(text) {
		return fmt.Errorf("%s has no function %q", file, name)
	}
	return nil
}

// section of a page: what stands below a heading.
func section(page, heading string) string {
	_, after, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

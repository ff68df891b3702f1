package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quoted matches text between backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestAuthorsPage: in docs/authors.md each promise names existing tests that can fail, and so does each of the ten mistakes, with
// a function of the engine.
func TestAuthorsPage(t *testing.T) {
	page, tests := read(t, "docs/authors.md"), newProofs(engineFolders())
	promises := rows(section(page, "What the engine promises"))
	if len(promises) < 20 {
		t.Errorf("%d promises", len(promises))
	}
	for _, row := range promises {
		tests.shownBy(t, row, row[len(row)-1])
	}
	mistakes := rows(section(page, "Ten mistakes that operators make"))
	if len(mistakes) != 10 {
		t.Errorf("%d mistakes", len(mistakes))
	}
	for _, row := range mistakes {
		place, proof, _ := strings.Cut(row[len(row)-1], "; ")
		if err := inEngine(strings.Trim(place, "`")); err != nil {
			t.Errorf("%v: %v", row[0], err)
		}
		tests.shownBy(t, row, proof)
	}
	for _, wrong := range []string{"controller/apply/applier.go: Nothing", "controller/none.go: Apply", "Apply"} {
		if inEngine(wrong) == nil {
			t.Errorf("%s is said to be there", wrong)
		}
	}
}

// TestAuthorsFindWhatElseThereIs: a package of the engine exports each name in the table of docs/authors.md, and the file that
// shows a need uses the first of them.
func TestAuthorsFindWhatElseThereIs(t *testing.T) {
	var all []string
	for _, folder := range engine() {
		all = append(all, exported(t, folder)...)
	}
	needs := rows(section(read(t, "docs/authors.md"), "What else the engine has"))
	if len(needs) < 10 {
		t.Errorf("%d needs", len(needs))
	}
	for _, row := range needs {
		names := qualified.FindAllStringSubmatch(row[1], -1)
		_, place, _ := strings.Cut(row[2], "](../")
		if len(names) == 0 || !strings.Contains(read(t, strings.TrimSuffix(place, ")")), names[0][2]) {
			t.Errorf("%s: %s does not use what %s names first", row[0], row[2], row[1])
		}
		for _, name := range names {
			if !slices.ContainsFunc(all, func(declaration string) bool { return declares(declaration, name[1], name[2]) }) {
				t.Errorf("%s: nothing exported is called %s", row[0], name[0])
			}
		}
	}
	for _, wrong := range []string{"Owned.None", "None.Through", "Owned.Thro"} {
		of, name, _ := strings.Cut(wrong, ".")
		if slices.ContainsFunc(all, func(declaration string) bool { return declares(declaration, of, name) }) {
			t.Errorf("%s is said to be there", wrong)
		}
	}
}

var qualified = regexp.MustCompile("`([A-Za-z]+)\\.([A-Z][A-Za-z]+)`")

// declares reports whether the declaration is that of a function or type of a package, or of a method or field of a type.
func declares(declaration, of, name string) bool {
	if of[0] >= 'a' {
		return regexp.MustCompile(`^(func|type) ` + name + `\b`).MatchString(declaration)
	}
	return regexp.MustCompile(`^func \(([a-z]+ )?\*?`+of+`\) `+name+`\(`).MatchString(declaration) ||
		regexp.MustCompile(`(?s)^type `+of+` struct \{.*\b`+name+`\b`).MatchString(declaration)
}

// shownBy: a cell is a list of tests, and each exists.
func (p proofs) shownBy(t *testing.T, row []string, cell string) {
	t.Helper()
	found := quoted.FindAllStringSubmatch(cell, -1)
	if len(found) == 0 || quoted.ReplaceAllString(cell, "") != strings.Repeat(", ", len(found)-1) {
		t.Errorf("%v: not a list of tests: %s", row[0], cell)
	}
	for _, m := range found {
		if err := p.shown(m[1]); err != nil {
			t.Errorf("%v: %s: %v", row[0], m[1], err)
		}
	}
}

// engineFolders returns the folders of the packages that the page names: convert is the engine's, not that of training jobs.
func engineFolders() map[string]string {
	all := maps.Clone(folders)
	maps.Copy(all, map[string]string{"convert": "convert", "election": "controller/election", "watch": "controller/watch", "foobar": "examples/operators/foobar", "faults": "test/faults", "authors": "test/authors"})
	return all
}

// inEngine returns an error if the place of a function (file, colon, name) is wrong.
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

// section returns the text below a heading of a page.
func section(page, heading string) string {
	_, after, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

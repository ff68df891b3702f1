package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIntegrationsAreShown: what docs/integrations.md calls tried names existing tests, and the page has each test of the rules
// of other programs.
func TestIntegrationsAreShown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "integrations.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := newProofs(folders)
	found, errs := p.named(string(text))
	for _, err := range errs {
		t.Error(err)
	}
	programs := 0
	for _, row := range rows(string(text)) {
		if len(row) != 4 {
			continue
		}
		programs++
		if tests, errs := p.named(row[2]); len(tests) == 0 || len(errs) > 0 {
			t.Errorf("%s: tried by no test", row[0])
		}
	}
	if programs < 15 {
		t.Errorf("%d programs", programs)
	}
	tests, err := parseSuite(folders["integrations"])
	if err != nil {
		t.Fatal(err)
	}
	for name := range tests {
		if strings.HasPrefix(name, "Test") && !slices.Contains(found, "integrations."+name) {
			t.Errorf("integrations.%s is not in docs/integrations.md", name)
		}
	}
	if _, errs := p.named("`integrations.TestNothing`, `plan/gang/nothing`"); len(errs) != 2 {
		t.Errorf("tests that are not there: %v", errs)
	}
}

var ofATest = regexp.MustCompile("`([a-z]+\\.Test[^`]+|(?:plan|convert)/[\\w-]+/[^`]+)`")

// named returns the tests and stories that a text names, and an error for each that does not exist.
func (p proofs) named(text string) (found []string, errs []error) {
	for _, m := range ofATest.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
		if err := p.shown(m[1]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m[1], err))
		}
	}
	return found, errs
}

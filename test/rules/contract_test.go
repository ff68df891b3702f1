package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// rows returns the rows of all tables of a text, without the heads: the cells, trimmed.
func rows(text string) (found [][]string) {
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|--"):
			body = true
		case body:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			found = append(found, cells)
		}
	}
	return found
}

var (
	folders = map[string]string{"plan": "training/plan", "controller": "controller", "apply": "controller/apply", "cache": "controller/cache", "consistency": "controller/consistency",
		"events": "controller/events", "queue": "controller/queue", "operator": "training/operator", "convert": "training/convert", "schema": "schema", "training": "training", "kinds": "training/kinds",
		"integration": "test/integration", "cli": "cli", "manager": "cli/manager", "deploy": "deploy", "crd": "schema/crd", "crdtest": "tools/crdtest",
		"v2beta1": "training/operator", "integrations": "tools/integrations", "generate": "deploy/integrations/generate"}
	testName  = regexp.MustCompile(`^([a-z]+)\.(Test\w+)(?:/(.+))?$`)
	storyName = regexp.MustCompile(`^(plan|convert|v2beta1)/([\w-]+)/(.+)$`)
)

// proofs looks tests up by the names that documents give them. It parses each package once.
type proofs struct {
	folders map[string]string // by the names of their packages
	suites  map[string]suite
}

func newProofs(folders map[string]string) proofs { return proofs{folders, map[string]suite{}} }

// shown returns an error if the name of a test, of a part of one or of a story is wrong.
func (p proofs) shown(name string) error {
	if m := storyName.FindStringSubmatch(name); m != nil {
		folder := filepath.Join("..", "..", p.folders[m[1]], "testdata")
		if m[1] == "v2beta1" {
			folder = filepath.Join(folder, m[1])
		}
		archive, err := txtar.ParseFile(filepath.Join(folder, m[2]+".txtar"))
		if err != nil {
			return err
		}
		return story(archive, m[3])
	}
	m := testName.FindStringSubmatch(name)
	if m == nil || p.folders[m[1]] == "" {
		return fmt.Errorf("neither a story nor a test")
	}
	folder := p.folders[m[1]]
	if p.suites[folder] == nil {
		tests, err := parseSuite(folder)
		if err != nil {
			return err
		}
		p.suites[folder] = tests
	}
	return p.suites[folder].shows(m[2], m[3])
}

// TestContractIsShown: each row of the contract names existing tests, or says why there is none, and each known weakness has its row.
func TestContractIsShown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, tests := rows(string(text)), newProofs(folders)
	names := regexp.MustCompile("`([^`]+)`")
	weakness := 0
	for _, row := range all {
		if len(row) == 3 {
			weakness++
			if row[0] != fmt.Sprintf("W%d", weakness) {
				t.Errorf("%s stands where W%d should", row[0], weakness)
			}
		}
		proof := row[len(row)-1]
		if reason, none := strings.CutPrefix(proof, "not here: "); none {
			if reason == "" {
				t.Errorf("%v: no reason", row)
			}
			continue
		}
		found := names.FindAllStringSubmatch(proof, -1)
		if len(found) == 0 || names.ReplaceAllString(proof, "") != strings.Repeat(", ", len(found)-1) {
			t.Errorf("%v: not a list of tests", row)
		}
		for _, m := range found {
			if err := tests.shown(m[1]); err != nil {
				t.Errorf("%v: %s: %v", row, m[1], err)
			}
		}
	}
	if len(all) < 100 || weakness != 55 {
		t.Errorf("%d rows, %d weaknesses", len(all), weakness)
	}
	for _, wrong := range []string{"plan/scale/never-told", "plan/nowhere/x", "plan.TestNothing", "integration.TestContract/nothing", "x"} {
		if tests.shown(wrong) == nil {
			t.Errorf("%s is said to be there", wrong)
		}
	}
}

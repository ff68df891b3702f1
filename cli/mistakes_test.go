package cli

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stoic/examples"
	"stoic/schema"
)

// unreported returns the codes that `stoic validate` never reports, and why.
func unreported() map[schema.Code]string {
	return map[schema.Code]string{
		schema.Immutable: "a manifest does not say what its job was before: the API server compares the two, and refuses the change",
	}
}

// TestMistakesGolden: the output for every manifest in examples/rejected is in a file beside it, word for word. `go test ./cli -update`
// writes it.
func TestMistakesGolden(t *testing.T) {
	folder := filepath.Join("..", "examples", "rejected")
	t.Chdir(folder)
	manifests, err := filepath.Glob("*.yaml")
	if err != nil || len(manifests) < len(schema.Codes()) {
		t.Fatal(manifests, err)
	}
	var wanted []string
	for _, manifest := range manifests {
		file := strings.TrimSuffix(manifest, ".yaml") + ".txt"
		wanted = append(wanted, file)
		out, errOut, code := called("stoic", "validate", manifest)
		if wrong := strings.Contains(out, ": error: "); errOut != "" || wrong != (code == 1) || code > 1 {
			t.Errorf("%s: code %d, stderr %q, stdout\n%s", manifest, code, errOut, out)
		}
		sameText(t, file, out)
	}
	if there, _ := filepath.Glob("*.txt"); !slices.Equal(there, wanted) {
		t.Errorf("texts of no manifest, or the other way round: %v, want %v", there, wanted)
	}
}

// reportedLine matches one line of validate's output: its severity and its code.
var reportedLine = regexp.MustCompile(`(?m): (error|warning): .* \[(\w+)\]$`)

// TestMistakesShowEveryCode: the first line of a manifest names exactly the codes that it gets. Every code is shown, with its documented
// severity.
func TestMistakesShowEveryCode(t *testing.T) {
	all, err := examples.Mistakes()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, m := range all {
		got := map[string]bool{}
		for _, reported := range reportedLine.FindAllStringSubmatch(m.Reported, -1) {
			got[reported[2]] = true
			severity := schema.Code(reported[2]).Severity()
			if !strings.Contains(strings.ToLower(severity), reported[1]) {
				t.Errorf("%s: %s is said to be: %s; here it is of severity %s", m.File, reported[2], severity, reported[1])
			}
		}
		for _, code := range m.Codes {
			shown[code] = true
			if why := unreported()[schema.Code(code)]; why != "" {
				if got[code] {
					t.Errorf("%s: %s is told, although %s", m.File, code, why)
				}
				got[code] = true
			}
		}
		if want := slices.Sorted(slices.Values(m.Codes)); !slices.Equal(want, slices.Sorted(maps.Keys(got))) {
			t.Errorf("%s: its first line names %v; told are %v", m.File, want, slices.Sorted(maps.Keys(got)))
		}
	}
	for _, c := range schema.Codes() {
		if !shown[string(c)] {
			t.Errorf("no example shows %s", c)
		}
		delete(shown, string(c))
	}
	if len(shown) > 0 {
		t.Errorf("codes that do not exist: %v", shown)
	}
}

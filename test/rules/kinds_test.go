package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stoic/training/kinds"
)

// kindless returns the packages that know of kinds only what a training.Kind has. A new kind changes no file in them.
func kindless() []string {
	return []string{"stoic/convert", "stoic/training/convert", "stoic/controller", "stoic/training/plan"}
}

// TestNoKindIsNamed: no code in these packages depends on a certain kind, its options or its words. Comments may name one.
func TestNoKindIsNamed(t *testing.T) {
	var names []string
	for _, kind := range kinds.All() {
		names = append(names, kind.Name, kind.Plural, kind.ReplicaSpecsField)
	}
	named := regexp.MustCompile(`(?i)\b\w*(` + strings.Join(names, "|") + `)`)
	files := 0
	for _, p := range packages(t) {
		if !slices.Contains(kindless(), p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			files++
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for number, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "//")
				if found := named.FindString(code); found != "" {
					t.Errorf("%s/%s:%d names %s: what is particular to a kind stands in schema", p.ImportPath, name, number+1, found)
				}
			}
		}
	}
	if files < 30 {
		t.Errorf("looked into %d files", files)
	}
}

package schema

import (
	"slices"
	"strings"
	"testing"

	"stoic/test/source"
)

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

package rules

import (
	"strings"
	"testing"
)

// TestClientPrograms: the programs on docs/clients.md are those that test/clients runs, except the line that describes each.
func TestClientPrograms(t *testing.T) {
	page := read(t, "docs/clients.md")
	for language, file := range map[string]string{"go": "go/examples/hello/main.go", "ts": "typescript/examples/hello.ts", "python": "python/examples/hello.py", "java": "java/examples/Hello.java"} {
		about, program, _ := strings.Cut(read(t, "clients/"+file), "\n")
		if !strings.HasSuffix(about, "docs/clients.md shows it.") {
			t.Errorf("clients/%s begins with %q", file, about)
		}
		_, shown, _ := strings.Cut(page, "\n```"+language+"\n")
		if shown, _, _ = strings.Cut(shown, "```\n"); shown != program {
			t.Errorf("docs/clients.md shows another program than clients/%s:\n%s", file, shown)
		}
	}
}

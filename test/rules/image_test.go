package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImageHasAllSources: .dockerignore admits only what it names. A folder that the program needs and that is not named there
// breaks the build of the image, which no other test tries.
func TestImageHasAllSources(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	let := strings.Fields(string(text))
	found := 0
	for _, path := range strings.Fields(string(out)) {
		below, ours := strings.CutPrefix(path, "stoic/")
		if !ours {
			continue
		}
		found++
		if folder, _, _ := strings.Cut(below, "/"); !slices.Contains(let, "!"+folder) {
			t.Errorf(".dockerignore keeps %s out of the image's build", folder)
		}
	}
	if found < 5 {
		t.Errorf("found %d packages of ours; there should be more", found)
	}
}

package comparison

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const page = root + "/docs/authors.md"

// TestQuoted: the page for users who write operators quotes what TestOneMalformedFoo waits for, and the numbers in its table are those of
// the programs here.
func TestQuoted(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range map[string]interface{ MatchString(string) bool }{"the watch": watchFails, "the list": listFails, "the caches": neverSyncs} {
		if !pattern.MatchString(string(text)) {
			t.Errorf("%s does not quote what is said of %s: %v", page, name, pattern)
		}
	}
	for _, program := range []string{"clientgo", "runtime", "engine"} {
		lines, packages := written(t, program)
		row := fmt.Sprintf("[%s](../tools/comparison/%s) | %d | %d |", program, program, lines, packages)
		if !strings.Contains(string(text), row) {
			t.Errorf("%s has no row %q", page, row)
		}
	}
}

// written counts the code written by hand besides the types: lines that are not blank, and imported packages of neither the standard
// library nor this module.
func written(t *testing.T, program string) (lines, packages int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(program, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", program, len(files), err)
	}
	imported := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(path, "/")
			if (strings.Contains(first, ".") || first == "stoic") && !strings.HasPrefix(path, "stoic/tools/comparison/") {
				imported[path] = true
			}
		}
	}
	return lines, len(imported)
}

// TestGenerated: the generated code is as long as the page says, go.mod is as go mod tidy writes it, and go vet reports nothing. make
// verify does not check this, as it all needs the output of go generate.
func TestGenerated(t *testing.T) {
	generate(t)
	lines := 0
	for _, pattern := range []string{"api/comparison/v1/zz_generated.*.go", "generated/*/*.go", "generated/*/*/*.go", "generated/*/*/*/*.go", "generated/*/*/*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
	}
	if lines < 1300 || lines > 1500 { // the page says some 1,400
		t.Errorf("%d generated lines", lines)
	}
	for _, args := range [][]string{{"mod", "tidy", "-diff"}, {"vet", "./..."}} {
		if err := runGo(args...); err != nil {
			t.Error(err)
		}
	}
}

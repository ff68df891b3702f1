package seeded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compiler checks the types of packages of this module after some files were replaced. It reads their imports from the export
// data of the build cache: a build of each would take minutes.
type compiler struct {
	files   map[string][]string // of a folder
	exports map[string]string   // of an import path
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0") // the race detector needs 1 for this test alone
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, talk.String())
	}
	c := &compiler{map[string][]string{}, map[string]string{}}
	for decoder := json.NewDecoder(&out); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		c.files[p.Dir], c.exports[p.ImportPath] = p.GoFiles, p.Export
	}
}

// check type-checks the packages of the replaced files.
func (c *compiler) check(replaced map[string]string) error {
	var dirs []string
	for file := range replaced {
		if dir := filepath.Dir(file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		fset := token.NewFileSet()
		within, err := filepath.Abs(filepath.Join(root, dir))
		if err != nil || len(c.files[within]) == 0 {
			return fmt.Errorf("%s is no package: %v", dir, err)
		}
		var files []*ast.File
		for _, name := range c.files[within] {
			text, ok := replaced[filepath.Join(dir, name)]
			if !ok {
				all, err := os.ReadFile(filepath.Join(within, name))
				if err != nil {
					return err
				}
				text = string(all)
			}
			file, err := parser.ParseFile(fset, filepath.Join(dir, name), text, parser.AllErrors|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		known := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
		if _, err := (&types.Config{Importer: known}).Check("stoic/"+dir, fset, files, nil); err != nil {
			return err
		}
	}
	return nil
}

// declares reports whether a test file of a package has a test that go test -run would run for the first part of a pattern.
func declares(folder, run string) bool {
	name := strings.Trim(strings.Split(run, "/")[0], "^$")
	files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}

// TestCompilerOfBugs: the compiler of the test distinguishes what compiles from what does not.
func TestCompilerOfBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	c := newCompiler(t)
	const file = "test/faults/seeded/table.go"
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	for more, fits := range map[string]bool{"": true, "var x = y\n": false, "var x int = `a`\n": false, "func (\n": false, "func f() { unused := 1 }\n": false} {
		if err := c.check(map[string]string{file: string(text) + more}); (err == nil) != fits {
			t.Errorf("%q: %v", more, err)
		}
	}
	if !declares("test/faults/seeded", "^TestParse$/a") || declares("test/faults/seeded", "^TestThatIsNotThere$") {
		t.Error("tests are not told apart")
	}
}

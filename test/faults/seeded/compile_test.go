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
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the race detector needs 1 for this test alone
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	c := &compiler{files: map[string][]string{}, exports: map[string]string{}}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		c.files[p.Dir] = p.GoFiles
		c.exports[p.ImportPath] = p.Export
	}
}

// check checks the types of the packages of the replaced files.
func (c *compiler) check(replaced map[string]string) error {
	dirs := map[string]bool{}
	for file := range replaced {
		dirs[filepath.Dir(file)] = true
	}
	for dir := range dirs {
		within, err := filepath.Abs(filepath.Join(root, dir))
		if err != nil || len(c.files[within]) == 0 {
			return fmt.Errorf("%s is no package: %v", dir, err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range c.files[within] {
			var text any // nil: the parser reads the file
			if patched, isReplaced := replaced[filepath.Join(dir, name)]; isReplaced {
				text = patched
			}
			file, err := parser.ParseFile(fset, filepath.Join(within, name), text, parser.SkipObjectResolution)
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

package source

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Operator is the source of an operator on the engine, as files of its test's folder.
type Operator struct {
	Written []string // what the user writes by hand, beside types and tests
	Beside  []string // types with their defaults and validation: with the same limits on imports, and not counted
	// Imports may be used beside the engine, apimachinery and the standard library.
	Imports []string
	// Time reports whether a name of package time may be used; nil: the package may not be imported.
	Time func(name string) bool
}

// Size limits the number of lines, including comments. Every file but tests and doc.go is listed.
func (o Operator) Size(t testing.TB) {
	t.Helper()
	const most = 150
	lines := 0
	for _, file := range sources(t) {
		if !slices.Contains(o.Written, file) && !slices.Contains(o.Beside, file) {
			t.Errorf("%s is neither counted nor said to be types", file)
		}
	}
	for _, file := range o.Written {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
			if strings.TrimSpace(scanner.Text()) != "" {
				lines++
			}
		}
	}
	if t.Logf("%d lines", lines); lines > most {
		t.Errorf("%d lines, must be at most %d", lines, most)
	}
}

// sources returns the Go files of the folder and those below it, without tests and doc.go.
func sources(t testing.TB) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if name := entry.Name(); err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "doc.go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// OnTheEngineAlone: the source has no client, cache, queue, goroutine, clock or class of errors.
func (o Operator) OnTheEngineAlone(t testing.TB) {
	t.Helper()
	for _, file := range slices.Concat(o.Written, o.Beside) {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !o.may(path) {
				t.Errorf("%s imports %s", file, path)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
				t.Errorf("%s has a goroutine or a channel", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "time" && o.Time != nil && !o.Time(n.Sel.Name) {
					t.Errorf("%s has time.%s: the time is what the engine says", set.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

func (o Operator) may(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	effects := []string{"net", "sync", "context", "errors"}
	if o.Time == nil {
		effects = append(effects, "time")
	}
	standard := !strings.Contains(first, ".") && first != "stoic" && !slices.Contains(effects, first)
	return standard || strings.HasPrefix(path, "k8s.io/apimachinery/") || slices.Contains(o.Imports, path) ||
		slices.Contains([]string{"stoic/schema", "stoic/convert", "stoic/convert/versions", "stoic/controller", "stoic/controller/program", "stoic/controller/schedule"}, path)
}

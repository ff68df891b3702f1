package rules

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the exported API of the engine anew")

// engine lists the packages that the authors of operators import.
var engine = []string{"schema", "convert", "convert/versions", "controller", "controller/watch", "controller/program", "controller/schedule"}

// TestAPI: the exported names of the engine do not change unnoticed, including fields, methods and parameters, and each has a
// comment. `go test ./test/rules -update` writes the files; a rename or removal must be in CHANGELOG.md.
func TestAPI(t *testing.T) {
	for _, folder := range engine {
		golden := filepath.Join("testdata", "api", strings.ReplaceAll(folder, "/", "-")+".txt")
		var lines []string
		for _, declaration := range declarations(t, folder, 0) {
			lines = append(lines, printed(t, declaration))
		}
		slices.Sort(lines)
		got := strings.Join(lines, "\n") + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("the exported API of %s has changed (-was +is):\n%s", folder, diff)
		}
		for _, declaration := range declarations(t, folder, parser.ParseComments) {
			if !isDocumented(declaration) {
				t.Errorf("%s exports this without a comment: %s", folder, printed(t, declaration))
			}
		}
	}
}

// declarations returns the exported declarations of a package, one for each name.
func declarations(t *testing.T, folder string, mode parser.Mode) (all []ast.Decl) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, declaration := range file.Decls {
			all = append(all, split(declaration)...)
		}
	}
	return all
}

// split returns one declaration for each function, type, constant or variable. A group's comment counts for its constants and variables.
func split(declaration ast.Decl) (single []ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d)) {
			single = append(single, d)
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		for _, spec := range d.Specs {
			one := &ast.GenDecl{Tok: d.Tok, TokPos: spec.Pos(), Specs: []ast.Spec{spec}}
			if d.Tok != token.TYPE || !d.Lparen.IsValid() {
				one.Doc = d.Doc
			}
			single = append(single, one)
		}
	}
	return single
}

func isDocumented(declaration ast.Decl) bool {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return d.Doc != nil
	case *ast.GenDecl:
		switch spec := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return d.Doc != nil || spec.Doc != nil
		case *ast.ValueSpec:
			return d.Doc != nil || spec.Doc != nil || spec.Comment != nil
		}
	}
	return true
}

// receiver returns the name of the type of a method.
func receiver(method *ast.FuncDecl) string {
	var name string
	ast.Inspect(method.Recv.List[0].Type, func(n ast.Node) bool {
		if identifier, ok := n.(*ast.Ident); ok && name == "" {
			name = identifier.Name
		}
		return name == ""
	})
	return name
}

// printed formats a declaration that was parsed without comments.
func printed(t *testing.T, declaration ast.Decl) string {
	t.Helper()
	if function, ok := declaration.(*ast.FuncDecl); ok {
		function.Body = nil
	}
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), declaration); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

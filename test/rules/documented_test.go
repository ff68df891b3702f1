package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumented: go doc describes all that an operator can name. A comment of a group of constants or variables counts for each
// of them; a type and a function need their own.
func TestDocumented(t *testing.T) {
	for _, folder := range engine() {
		names, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, ident := range undocumented(file) {
				t.Errorf("%s: %s has no comment", set.Position(ident.Pos()), ident.Name)
			}
		}
	}
}

// undocumented returns the exported names of a file that have no comment.
func undocumented(file *ast.File) (names []*ast.Ident) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && decl.Doc == nil && (decl.Recv == nil || ast.IsExported(receiver(decl))) {
				names = append(names, decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() && spec.Doc == nil && (decl.Doc == nil || decl.Lparen.IsValid()) {
						names = append(names, spec.Name)
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() && spec.Doc == nil && spec.Comment == nil && decl.Doc == nil {
							names = append(names, name)
						}
					}
				}
			}
		}
	}
	return names
}

// TestUndocumented: the check can fail.
func TestUndocumented(t *testing.T) {
	const source = `package p

// A is told of.
type A struct{}

type B struct{}

// M is told of.
func (A) M() {}

func (A) N() {}

func (a) O() {}

type a struct{}

// Numbers.
const (
	One = 1
	Two = 2
)

var Three = 3

type (
	// C is told of.
	C int
	D int
)
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range undocumented(file) {
		got = append(got, name.Name)
	}
	if want := "B N Three D"; strings.Join(got, " ") != want {
		t.Errorf("found %v, want %s", got, want)
	}
}

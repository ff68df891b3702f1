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

// engine returns the packages that users import to write operators.
func engine() []string {
	return []string{"schema", "convert", "convert/versions", "controller", "controller/watch", "controller/program", "controller/schedule"}
}

// files parses the files of a package, either its tests or all others.
func files(t *testing.T, folder string, tests bool) (parsed []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution) // without comments
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	return parsed
}

// exported returns the exported declarations of a package as text, one for each name, sorted.
func exported(t *testing.T, folder string) (all []string) {
	t.Helper()
	for _, file := range files(t, folder, false) {
		if !ast.FileExports(file) {
			continue
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Body = nil; decl.Recv == nil || ast.IsExported(receiver(decl)) {
					all = append(all, printed(t, decl))
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if decl.Tok != token.IMPORT {
						all = append(all, printed(t, &ast.GenDecl{Tok: decl.Tok, Specs: []ast.Spec{spec}}))
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// receiver returns the name of the type of a method.
func receiver(method *ast.FuncDecl) (name string) {
	ast.Inspect(method.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// printed formats a declaration, whatever its line breaks.
func printed(t *testing.T, decl ast.Decl) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), decl); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if value, ok := decl.(*ast.GenDecl); ok && value.Tok == token.CONST {
		text = strings.Join(strings.Fields(text), " ")
	}
	return text
}

// TestAPI: the exported names for operators do not change unnoticed, including fields, methods and parameters. `go test
// ./test/rules -update` writes the files; a rename or removal must be in CHANGELOG.md.
func TestAPI(t *testing.T) {
	for _, folder := range engine() {
		golden := filepath.Join("testdata", "api", strings.ReplaceAll(folder, "/", "-")+".txt")
		got := strings.Join(exported(t, folder), "\n") + "\n"
		if strings.Count(got, "\n") < 5 {
			t.Errorf("%s exports %q", folder, got)
		}
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
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
	}
}

// TestAuthorsCanNameTypes: every type in an exported declaration of the packages that docs/authors.md names has a name in one of
// them. Types of packages below controller have an alias there.
func TestAuthorsCanNameTypes(t *testing.T) {
	aliases := map[string]bool{} // watch.Owned
	for _, spec := range typesOf(files(t, "controller", false)) {
		if of, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() && spec.Name.IsExported() {
			aliases[of.X.(*ast.Ident).Name+"."+of.Sel.Name] = true
		}
	}
	if !aliases["watch.Owned"] || !aliases["lean.Object"] {
		t.Fatalf("aliases: %v", aliases)
	}
	var needed []string
	for _, spec := range typesOf(files(t, "controller/watch", false)) {
		if spec.Name.IsExported() {
			needed = append(needed, "watch."+spec.Name.Name)
		}
	}
	for _, folder := range []string{"controller", "controller/watch", "controller/program"} {
		for _, file := range files(t, folder, false) {
			needed = append(needed, exportedFrom(file)...)
		}
	}
	for _, name := range needed {
		if !aliases[name] {
			t.Errorf("an author of an operator needs %s, of which package controller has no alias", name)
		}
	}
}

func typesOf(parsed []*ast.File) (all []*ast.TypeSpec) {
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				all = append(all, spec)
			}
			return true
		})
	}
	return all
}

// exportedFrom returns the names of packages below controller in a file's exported declarations. It removes all other declarations.
func exportedFrom(file *ast.File) (names []string) {
	deep := map[string]bool{}
	for _, i := range file.Imports {
		if name, below := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "stoic/controller/"); below {
			deep[name] = true
		}
	}
	ast.FileExports(file)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok {
				if in, ok := of.X.(*ast.Ident); ok && deep[in.Name] {
					names = append(names, in.Name+"."+of.Sel.Name)
				}
			}
			return true
		})
	}
	return names
}

// shownElsewhere returns the exported types without their own example, and why.
func shownElsewhere() map[string]string {
	watch := "package controller has it under the same name, with an example"
	return map[string]string{
		"schema.Cause":       "ExampleRefusal",
		"schema.Stage":       "ExampleCount",
		"convert.Advice":     "what Advise returns, for rules of types of Kubernetes",
		"convert.Checked":    "ExampleSchema",
		"convert.Encoder":    "the engine's: what it keeps of an object as JSON",
		"convert.Option":     "ExampleRule, ExampleValidate and ExampleDefault are the options",
		"convert.Panic":      "the engine's: a defect of a converter, for its log",
		"convert.Shape":      "ExampleReader",
		"convert.Shapes":     "ExampleReader",
		"controller.Options": "ExampleController",
		"versions.Version":   "ExampleKind", "versions.Move": "ExampleKind", "versions.Converter": "ExampleKind", "versions.Result": "ExampleKind",
		"versions.Outcome":   "ExampleKind",
		"program.Conversion": "Program runs it with --conversion-only; a program with a command line of its own as it does Process",
		"watch.Watch":        watch, "watch.Owned": watch, "watch.Reasons": watch, "watch.Job": watch, "watch.Generator": watch, "watch.Read": watch,
	}
}

// TestExamples: every exported type that an operator uses has an example, which is compiled and run.
func TestExamples(t *testing.T) {
	reasons := shownElsewhere()
	for _, folder := range engine() {
		examples := map[string]bool{}
		for _, file := range files(t, folder, true) {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
					name, _, _ := strings.Cut(strings.TrimPrefix(f.Name.Name, "Example"), "_")
					examples[name] = true
				}
			}
		}
		for _, file := range files(t, folder, false) {
			for _, decl := range file.Decls {
				types, ok := decl.(*ast.GenDecl)
				if !ok || types.Tok != token.TYPE {
					continue
				}
				for _, spec := range types.Specs {
					name := spec.(*ast.TypeSpec).Name
					full := file.Name.Name + "." + name.Name
					why, excused := reasons[full]
					delete(reasons, full)
					switch {
					case !name.IsExported():
					case !examples[name.Name] && !excused:
						t.Errorf("%s has no Example%s, and no reason why", full, name.Name)
					case examples[name.Name] && excused:
						t.Errorf("%s has an example; its reason %q is out of date", full, why)
					}
				}
			}
		}
	}
	for full := range reasons {
		t.Errorf("%s does not exist", full)
	}
}

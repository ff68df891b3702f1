package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Constants returns the values of those constants of a file that are wanted by name or type. It fails for fewer than ten: then
// the file has probably changed its form.
func Constants(t testing.TB, file string, wanted func(name, kind string) bool) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		kind, _ := spec.Type.(*ast.Ident)
		if kind == nil {
			kind = &ast.Ident{}
		}
		literal, is := spec.Values[0].(*ast.BasicLit)
		if is && wanted(spec.Names[0].Name, kind.Name) {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) < 10 {
		t.Fatalf("found %d constants in %s", len(values), file)
	}
	return values
}

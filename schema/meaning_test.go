package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEveryCodeExplainsItself(t *testing.T) {
	for _, c := range Codes() {
		for what, text := range map[string]string{"meaning": c.Meaning(), "remedy": c.Remedy(), "severity": c.Severity()} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s of %s is not a sentence in one line: %q", what, c, text)
			}
		}
	}
	if c := Code("Nonsense"); c.Meaning() != "" || c.Remedy() != "" || c.Severity() != "" {
		t.Error("a code that does not exist has a meaning")
	}
}

// constants returns the values of those constants of a file that are wanted by name or type.
func constants(t *testing.T, file string, wanted func(name, kind string) bool) (values []string) {
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

func TestCodesListsAll(t *testing.T) {
	declared := constants(t, "problem.go", func(_, kind string) bool { return kind == "Code" })
	var listed []string
	for _, c := range Codes() {
		listed = append(listed, string(c))
	}
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %v\nlisted %v", declared, listed)
	}
}

func TestNoticesListsAllReasons(t *testing.T) {
	declared := constants(t, "reason.go", func(name, _ string) bool { return strings.HasPrefix(name, "Reason") })
	var listed []string
	for _, n := range Notices() {
		listed = append(listed, n.Reason)
		if n.Where == "" || n.When == "" || !slices.Contains(declared, n.Reason) {
			t.Errorf("%+v", n)
		}
	}
	for _, reason := range declared {
		if !slices.Contains(listed, reason) {
			t.Errorf("nothing says when %s is given", reason)
		}
	}
}

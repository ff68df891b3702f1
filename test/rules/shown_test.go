package rules

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// story returns an error unless a story's input and golden file exist in an archive, with content.
func story(archive *txtar.Archive, name string) error {
	content := func(file string) string {
		for _, f := range archive.Files {
			if f.Name == file {
				return strings.TrimSpace(string(f.Data))
			}
		}
		return ""
	}
	if content(name+".yaml") == "" {
		return fmt.Errorf("there is no %s.yaml in that archive", name)
	}
	if content(name+".plan") == "" && content(name+".want") == "" {
		return fmt.Errorf("there is nothing that %s.yaml is compared with", name)
	}
	return nil
}

// suite has the test functions of a package and all that they can call there.
type suite map[string]*ast.FuncDecl

func parseSuite(folder string) (suite, error) {
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	s := suite{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				s[f.Name.Name] = f // methods of one name count as one: it is found if any is called
			}
		}
	}
	return s, nil
}

// reach visits the function and all functions of its own package that it names, each once.
func (s suite) reach(name string, seen map[string]bool, visit func(ast.Node)) {
	if s[name] == nil || seen[name] {
		return
	}
	seen[name] = true
	ast.Inspect(s[name].Body, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		if id, ok := n.(*ast.Ident); ok {
			s.reach(id.Name, seen, visit)
		}
		return true
	})
}

// shows returns an error unless a test exists, can fail, and has the part.
func (s suite) shows(test, part string) error {
	if s[test] == nil {
		return errors.New("there is no such test")
	}
	failing := []string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}
	fails, has := false, part == ""
	s.reach(test, map[string]bool{}, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fails = fails || slices.Contains(failing, n.Sel.Name)
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			has = has || err == nil && n.Kind == token.STRING && text == part
		}
	})
	if !fails || !has {
		return fmt.Errorf("the test can fail: %v, it has that part: %v", fails, has)
	}
	return nil
}

// TestShows: the rule itself notices a test that cannot fail, a part that belongs to another test, and a story without a golden file.
func TestShows(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
func TestA(t *testing.T) { t.Run("part of a", func(t *testing.T) { check(t) }) }
func TestB(t *testing.T) { t.Log("part of b") }
func check(t *testing.T) { t.Error("x") }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := suite{}
	for _, d := range parsed.Decls {
		f := d.(*ast.FuncDecl)
		s[f.Name.Name] = f
	}
	for name, right := range map[[2]string]bool{{"TestA", ""}: true, {"TestA", "part of a"}: true, {"TestA", "part of b"}: false,
		{"TestB", ""}: false, {"TestC", ""}: false} {
		if err := s.shows(name[0], name[1]); (err == nil) != right {
			t.Errorf("%s %q: %v", name[0], name[1], err)
		}
	}
	archive := txtar.Parse([]byte("-- a.yaml --\nx\n-- a.plan --\ny\n-- b.yaml --\nx\n-- c.yaml --\nx\n-- c.want --\n\n"))
	for name, right := range map[string]bool{"a": true, "b": false, "c": false, "d": false} {
		if err := story(archive, name); (err == nil) != right {
			t.Errorf("story %s: %v", name, err)
		}
	}
}

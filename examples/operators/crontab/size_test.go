package crontab

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// written is what the author of an operator writes by hand, beside tests, types with their defaults and validation, and package
// schedule, which knows nothing of Kubernetes objects.
func written() []string { return []string{"decide.go", "cmd/main.go"} }

// TestSize: it is few lines, comments included.
func TestSize(t *testing.T) {
	const most = 150
	lines := 0
	for _, file := range written() {
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

// TestOnTheEngineAlone: there is no client, cache, queue, goroutine or class of errors in it.
func TestOnTheEngineAlone(t *testing.T) {
	for _, file := range append(written(), "types.go") {
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
			first, _, _ := strings.Cut(path, "/")
			engine := slices.Contains([]string{"stoic/schema", "stoic/convert", "stoic/controller", "stoic/controller/program", "stoic/examples/operators/crontab", "stoic/examples/operators/crontab/schedule"}, path)
			standard := !strings.Contains(first, ".") && first != "stoic" && !slices.Contains([]string{"net", "sync", "context", "errors"}, first)
			if !engine && !standard && !strings.HasPrefix(path, "k8s.io/apimachinery/") {
				t.Errorf("%s imports %s", file, path)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
				t.Errorf("%s has a goroutine or a channel", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "time" && !slices.Contains([]string{"Time", "Minute", "Unix"}, n.Sel.Name) {
					t.Errorf("%s has time.%s: the time is what the engine says", set.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// notOurs returns words that a reader who knows client-go would have to learn first, as Kubernetes or testing has another one.
// Each is forbidden in declared names, comments, documents and names of files, in the plural, too.
func notOurs() map[string]string {
	return map[string]string{
		"calm": "debounce, stable, quiet", "court": "comparison", "doomed": "stopping", "expunge": "delete", "fate": "outcome",
		"futile": "useless, without effect", "futility": "negative cache", "lived": "ran", "living": "running",
		"mend": "repair, correct, suggest", "mended": "repaired, corrected", "mishap": "fault", "mould": "podTemplate",
		"mourn": "debounce", "people": "users, readers", "quoter": "writer", "stray": "orphan", "untold": "unreported, unsent",
		"upheaval": "disruption", "verdict": "terminal condition", "world": "cluster, model",
	}
}

// notNames are forbidden in declared names alone: in a sentence they are English.
func notNames() map[string]string {
	return map[string]string{"told": "reported", "news": "change", "life": "run, lifecycle", "lives": "runs", "floor": "required version"}
}

// usualThere reports whether a word has its usual meaning in a file: a benchmark has a verdict on its budgets, and WORLD_SIZE is
// PyTorch's.
func usualThere(word, file string) bool {
	beginnings := map[string][]string{"verdict": {"test/bench/", "docs/performance"}, "world": {"training/kinds/"}}[word]
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(file, b) })
}

// TestWords: names and texts use the words of Kubernetes and of testing.
func TestWords(t *testing.T) {
	tracked, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.md").Output()
	if err != nil {
		t.Skipf("no git, no list of files: %v", err)
	}
	looked := 0
	for _, file := range strings.Fields(string(tracked)) {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			continue // deleted, and not yet committed
		}
		looked++
		if file == "test/rules/words_test.go" {
			continue
		}
		for _, f := range wordsIn(t, file, text) {
			t.Error(f)
		}
	}
	if looked < 600 {
		t.Errorf("looked into %d files", looked)
	}
}

// wordsIn returns the forbidden words of a file, one sentence each.
func wordsIn(t *testing.T, file string, text []byte) (found []string) {
	t.Helper()
	look := func(at int, text string, tables ...map[string]string) {
		for _, part := range partsOf(text) {
			for _, table := range tables {
				if instead := table[part]; instead != "" && !usualThere(part, file) {
					found = append(found, fmt.Sprintf("%s:%d: %q in %q: say %s", file, at, part, strings.TrimSpace(text), instead))
				}
			}
		}
	}
	look(1, file, notOurs(), notNames())
	if strings.HasSuffix(file, ".md") {
		for i, line := range strings.Split(string(text), "\n") {
			look(i+1, withoutCode(line), notOurs())
		}
		return found
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range declared(parsed) {
		look(set.Position(name.Pos()).Line, name.Name, notOurs(), notNames())
	}
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			look(set.Position(comment.Pos()).Line, withoutCode(comment.Text), notOurs())
		}
	}
	return found
}

// declared returns the names that a file gives to packages, types, functions, fields, parameters, constants and variables.
func declared(file *ast.File) (names []*ast.Ident) {
	add := func(all ...ast.Expr) {
		for _, e := range all {
			if name, is := e.(*ast.Ident); is {
				names = append(names, name)
			}
		}
	}
	add(file.Name)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

// withoutCode returns a text without what is between quotation marks or backticks: keys of stored objects, names of stories.
func withoutCode(text string) string {
	var b strings.Builder
	for _, mark := range []string{"`", `"`} {
		b.Reset()
		for i, part := range strings.Split(text, mark) {
			if i%2 == 0 {
				b.WriteString(part + " ")
			}
		}
		text = b.String()
	}
	return text
}

// partsOf returns the words of a name or text, in lower case and in the singular: podTemplates has two.
func partsOf(text string) (parts []string) {
	runes := []rune(text)
	begin := 0
	end := func(i int) {
		if i > begin {
			part := strings.ToLower(string(runes[begin:i]))
			parts = append(parts, part)
			if one := strings.TrimSuffix(part, "s"); one != part && len(one) > 3 {
				parts = append(parts, one)
			}
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end(i)
			begin = i + 1
		case i > begin && unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]):
			end(i)
			begin = i
		}
	}
	end(len(runes))
	return parts
}

// TestWordsAreFound: the test checks every place that can contain a word.
func TestWordsAreFound(t *testing.T) {
	const source = "package world // of a mould\n\ntype Verdicts struct{ calmFor, fine int }\n\nfunc f(people int) {\n\tfor lives, x := range told() { _ = \"verdict\"; told := x; _, _ = told, lives }\n}\n"
	var lines []string
	for _, f := range append(wordsIn(t, "a/stray_test.go", []byte(source)), wordsIn(t, "b.md", []byte("a `verdict` that was\nthe verdict, as told"))...) {
		lines = append(lines, strings.Join(strings.SplitN(f, " ", 3)[:2], " "))
	}
	want := []string{`a/stray_test.go:1: "stray"`, `a/stray_test.go:1: "world"`, `a/stray_test.go:1: "mould"`, `a/stray_test.go:3: "verdict"`, `a/stray_test.go:3: "calm"`,
		`a/stray_test.go:5: "people"`, `a/stray_test.go:6: "lives"`, `a/stray_test.go:6: "told"`, `b.md:2: "verdict"`}
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("found %q, want %q", lines, want)
	}
	if found := wordsIn(t, "test/bench/a.go", []byte("package a\n\nvar verdict = 1\n")); len(found) > 0 {
		t.Errorf("a benchmark has a verdict: %q", found)
	}
}

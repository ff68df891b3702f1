package authors

import (
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Folder holds the files of the tutorial as its reader has them after a step: content by path.
type Folder map[string]string

// Take adds a block's file: all of it, or declarations that replace those of the same names.
func (f Folder) Take(b Block) error {
	if b.File == "" {
		return nil
	}
	if strings.Contains("\n"+b.Text, "\npackage ") || filepath.Ext(b.File) != ".go" {
		f[b.File] = b.Text
		return nil
	}
	whole, there := f[b.File]
	if !there {
		return fmt.Errorf("%s: there is no such file yet", b.File)
	}
	text, err := replace(whole, b.Text)
	if err != nil {
		return fmt.Errorf("%s: %w", b.File, err)
	}
	f[b.File] = text
	return nil
}

// WriteTo writes the files into a directory.
func (f Folder) WriteTo(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// name matches the lines that begin a declaration, and finds its keyword and its name. Imports have no name.
var name = regexp.MustCompile(`(?m)^(?:(func) (?:\([^)]*\) )?(\w+)|(type|var|const) (?:\(\n\t)?(\w+)|(import) )`)

// declarations splits a formatted file: its package clause, and its declarations with their comments, which blank lines separate. A line
// within a declaration is indented, or closes it.
func declarations(text string) (all []string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.ContainsAny(paragraph[:1], "\t})") {
			all[len(all)-1] += "\n\n" + paragraph
			continue
		}
		all = append(all, paragraph)
	}
	return all
}

// nameOf returns the keyword and the name of a declaration.
func nameOf(declaration string) string {
	return strings.Join(name.FindStringSubmatch(declaration)[1:], "")
}

// replace replaces declarations of a file by those of the same names, and appends the others. Imports are added to those of the file.
func replace(whole, part string) (string, error) {
	before := declarations(whole)
	for _, declaration := range declarations(part) {
		if !name.MatchString(declaration) {
			return "", fmt.Errorf("found %q, must be declarations", declaration)
		}
		at := slices.IndexFunc(before[1:], func(other string) bool { return nameOf(other) == nameOf(declaration) }) + 1
		switch {
		case at == 0:
			before = append(before, declaration)
		case nameOf(declaration) == "import":
			before[at] = strings.TrimSuffix(before[at], ")") + imports(declaration) + ")"
		default:
			before[at] = declaration
		}
	}
	formatted, err := format.Source([]byte(strings.Join(before, "\n\n") + "\n"))
	return string(formatted), err
}

// imports returns the lines between the parentheses of an import declaration.
func imports(declaration string) string {
	lines := strings.TrimPrefix(declaration, "import ")
	return strings.Trim(lines, "()\n") + "\n"
}

package authors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
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

// piece is a declaration in a text.
type piece struct {
	name     string // "" for imports
	from, to int
	imports  []string
}

// replace replaces declarations of a file by those of the same names, and appends the others.
func replace(whole, part string) (string, error) {
	const head = "package p\n"
	before, err := pieces(whole)
	if err != nil {
		return "", err
	}
	now, err := pieces(head + part)
	if err != nil {
		return "", err
	}
	type change struct {
		from, to int
		text     string
	}
	var changes []change
	for _, p := range now {
		text := (head + part)[p.from:p.to]
		at := slices.IndexFunc(before, func(b piece) bool { return b.name == p.name })
		switch {
		case p.name == "" && at < 0:
			return "", errors.New("imports are added to a file that has none")
		case p.name == "":
			b := before[at]
			changes = append(changes, change{b.from, b.to, imports(append(b.imports, p.imports...))})
		case at < 0:
			changes = append(changes, change{len(whole), len(whole), "\n" + text + "\n"})
		default:
			changes = append(changes, change{before[at].from, before[at].to, text})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	end := 0
	for _, c := range changes {
		out.WriteString(whole[end:c.from] + c.text)
		end = c.to
	}
	out.WriteString(whole[end:])
	formatted, err := format.Source([]byte(out.String()))
	return string(bytes.TrimSpace(formatted)) + "\n", err
}

func imports(paths []string) string {
	var b strings.Builder
	b.WriteString("import (\n")
	for _, path := range paths {
		b.WriteString("\t" + path + "\n")
	}
	return b.String() + ")"
}

// pieces returns the pieces of a file: its declarations with their comments.
func pieces(text string) (all []piece, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		p := piece{from: set.Position(d.Pos()).Offset, to: set.Position(d.End()).Offset}
		doc := (*ast.CommentGroup)(nil)
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.name, doc = "func "+d.Name.Name, d.Doc
		case *ast.GenDecl:
			doc = d.Doc
			switch s := d.Specs[0].(type) {
			case *ast.ImportSpec:
				for _, i := range d.Specs {
					spec := i.(*ast.ImportSpec)
					name := ""
					if spec.Name != nil {
						name = spec.Name.Name + " "
					}
					p.imports = append(p.imports, name+spec.Path.Value)
				}
			case *ast.TypeSpec:
				p.name = "type " + s.Name.Name
			case *ast.ValueSpec:
				p.name = d.Tok.String() + " " + s.Names[0].Name
			}
		}
		if doc != nil {
			p.from = set.Position(doc.Pos()).Offset
		}
		all = append(all, p)
	}
	return all, nil
}

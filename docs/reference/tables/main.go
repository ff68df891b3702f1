// Tables writes the reference pages in docs/reference from the program's own data: its metrics, flags, kinds, codes and reasons.
// The pages must not be edited.
//
//	go run ./docs/reference/tables          writes them
//	go run ./docs/reference/tables -check   lists those that are not as they would be written, and exits with 1
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stoic/docs/generated"
)

// page is one file and what makes its text.
type page struct {
	name string
	text func() (string, error)
}

func pages() []page {
	return []page{
		{"additions.md", additions}, {"codes.md", codes}, {"crd-codes.md", crdCodes}, {"events.md", events}, {"flags.md", flags}, {"kinds.md", kindsPage}, {"metrics.md", metrics},
	}
}

func main() {
	folder := flag.String("o", filepath.Join("docs", "reference"), "where the pages are")
	check := flag.Bool("check", false, "write nothing; fail if a page is not as it would be written")
	flag.Parse()
	if err := run(pages(), *folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// run makes the pages and writes those that differ, or lists them.
func run(pages []page, folder string, check bool) error {
	files := map[string][]byte{}
	for _, p := range pages {
		text, err := p.text()
		if err != nil {
			return fmt.Errorf("make %s: %w", p.name, err)
		}
		files[filepath.Join(folder, p.name)] = []byte(notice + text)
	}
	stale, err := generated.Update(files, check)
	if err != nil {
		return err
	}
	if check && len(stale) > 0 {
		return fmt.Errorf("not as the program says; run `make generate`:\n  %s", strings.Join(stale, "\n  "))
	}
	return nil
}

const notice = "<!-- Written by `make generate`; do not edit. -->\n"

// table writes rows of Markdown below a heading row.
func table(heading []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
	line(heading)
	b.WriteString(strings.Repeat("|---", len(heading)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code puts a word into backquotes; an empty word stays empty.
func code(word string) string {
	if word == "" {
		return ""
	}
	return "`" + word + "`"
}

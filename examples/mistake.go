package examples

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Mistake is one manifest of rejected/ and what is said of it.
type Mistake struct {
	File     string   // in this folder: "rejected/no-template.yaml"
	Codes    []string // which it shows, the one that it is about first
	About    string   // what is wrong, in a sentence
	Manifest string   // without the line that says so
	Reported string   // what `stoic validate` prints of it in its folder
}

// Mistakes lists all, in order of file.
func Mistakes() ([]Mistake, error) {
	names, err := fs.Glob(files, "rejected/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the wrong examples: %w", err)
	}
	var all []Mistake
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read a wrong example: %w", err)
		}
		reported, err := fs.ReadFile(files, strings.TrimSuffix(name, path.Ext(name))+".txt")
		if err != nil {
			return nil, fmt.Errorf("read what is said of a wrong example: %w", err)
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m.File, m.Reported = name, string(reported)
		all = append(all, m)
	}
	return all, nil
}

// MistakeOf is the one that shows a code best: that has the fewest others beside it.
func MistakeOf(code string) (best Mistake, err error) {
	all, err := Mistakes()
	if err != nil {
		return Mistake{}, err
	}
	for _, m := range all {
		if slices.Contains(m.Codes, code) && (best.File == "" || len(m.Codes) < len(best.Codes)) {
			best = m
		}
	}
	if best.File == "" {
		return Mistake{}, fmt.Errorf("no example shows code %s", code)
	}
	return best, nil
}

// firstLine is "# Code: A. What is wrong." or "# Codes: A, B. What is wrong."
var firstLine = regexp.MustCompile(`^# Codes?: ([A-Za-z, ]+)\. (.+\.)$`)

func parse(text string) (Mistake, error) {
	first, rest, _ := strings.Cut(text, "\n")
	found := firstLine.FindStringSubmatch(first)
	if found == nil {
		return Mistake{}, fmt.Errorf("the first line is %q, must be like %q", first, "# Code: OutOfRange. What is wrong.")
	}
	return Mistake{Codes: strings.Split(found[1], ", "), About: found[2], Manifest: rest}, nil
}

package seeded

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed bugs/*.txtar
var files embed.FS

// Bug is a mistake that others have made before us, as a patch of our own sources.
type Bug struct {
	Name      string
	Reference string // where it was reported, or is described
	Found     string // by whom, or how
	Wrong     string // what went wrong, in one sentence
	Package   string // of the test that catches it, as an argument of go test: "./training/convert"
	Run       string // the pattern for -run
	Edits     []Edit
	// Within is how long the test may take. One on a control plane waits for an end that is never reached.
	Within time.Duration
}

// Edit replaces lines. Before must occur in the file exactly once.
type Edit struct{ File, Before, After string }

// All returns the bugs, in order of name.
func All() ([]Bug, error) {
	entries, err := files.ReadDir("bugs")
	if err != nil {
		return nil, fmt.Errorf("list the bugs: %w", err)
	}
	bugs := make([]Bug, 0, len(entries))
	for _, entry := range entries {
		data, err := files.ReadFile(path.Join("bugs", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a bug: %w", err)
		}
		bug, err := parse(strings.TrimSuffix(entry.Name(), ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("read bug %s: %w", entry.Name(), err)
		}
		bugs = append(bugs, bug)
	}
	return bugs, nil
}

// parse reads a bug from its file; see the package comment.
func parse(name string, data []byte) (bug Bug, err error) {
	archive := txtar.Parse(data)
	bug = Bug{Name: name, Within: 2 * time.Minute}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "reference":
			bug.Reference = value
		case "found":
			bug.Found = value
		case "wrong":
			bug.Wrong = value
		case "catch":
			bug.Package, bug.Run, _ = strings.Cut(value, " ")
		case "within":
			bug.Within, err = time.ParseDuration(value)
			if err != nil {
				return bug, fmt.Errorf("read %q: %w", line, err)
			}
		case "":
		default:
			return bug, fmt.Errorf("unknown key in %q", line)
		}
	}
	if bug.Reference == "" || bug.Found == "" || bug.Wrong == "" || bug.Package == "" || bug.Run == "" {
		return bug, errors.New("one of reference, found, wrong and catch is missing")
	}
	if len(archive.Files) == 0 || len(archive.Files)%2 != 0 {
		return bug, fmt.Errorf("%d pieces of code, want pairs of before and after", len(archive.Files))
	}
	for i := 0; i < len(archive.Files); i += 2 {
		before, after := archive.Files[i], archive.Files[i+1]
		file, isBefore := strings.CutPrefix(before.Name, "before ")
		if !isBefore || after.Name != "after "+file {
			return bug, fmt.Errorf("%q and %q are no pair of before and after", before.Name, after.Name)
		}
		bug.Edits = append(bug.Edits, Edit{file, string(before.Data), string(after.Data)})
	}
	return bug, nil
}

// Patched returns the files that the bug changes, by their path below root, with the bug in them.
func (b Bug) Patched(root string) (map[string]string, error) {
	patched := map[string]string{}
	for _, e := range b.Edits {
		text, known := patched[e.File]
		if !known {
			data, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("switch %s on: %w", b.Name, err)
			}
			text = string(data)
		}
		changed, err := e.apply(text)
		if err != nil {
			return nil, fmt.Errorf("switch %s on: %s: %w", b.Name, e.File, err)
		}
		patched[e.File] = changed
	}
	return patched, nil
}

// apply replaces whole lines.
func (e Edit) apply(text string) (string, error) {
	lines, before := "\n"+text, "\n"+e.Before // the first line begins as all others do
	at := strings.Index(lines, before)
	if e.Before == "" || at < 0 || at != strings.LastIndex(lines, before) {
		return "", fmt.Errorf("these lines are not there exactly once; the code has changed, so the bug must be written anew:\n%s", e.Before)
	}
	return text[:at] + e.After + text[at+len(e.Before):], nil
}

// Overlay writes the patched sources into dir, and the file for go build -overlay next to them, whose name it returns.
func (b Bug) Overlay(root, dir string) (file string, err error) {
	patched, err := b.Patched(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for source, text := range patched {
		source, err = filepath.Abs(filepath.Join(root, source))
		if err != nil {
			return "", fmt.Errorf("find the sources: %w", err)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(source, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("write a patched source: %w", err)
		}
		replace[source] = copied
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write the overlay of %s: %w", b.Name, err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("write the overlay of %s: %w", b.Name, err)
	}
	return file, nil
}

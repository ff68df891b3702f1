package seeded

import (
	"embed"
	"errors"
	"fmt"
	"path"
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

// usually is the default of Within.
const usually = 2 * time.Minute

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

func parse(name string, data []byte) (Bug, error) {
	archive := txtar.Parse(data)
	bug := Bug{Name: name, Within: usually}
	for line := range strings.Lines(string(archive.Comment)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := bug.fact(line); err != nil {
			return bug, err
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
		file, ok := strings.CutPrefix(before.Name, "before ")
		if !ok || after.Name != "after "+file {
			return bug, fmt.Errorf("%q and %q are no pair of before and after", before.Name, after.Name)
		}
		bug.Edits = append(bug.Edits, Edit{file, string(before.Data), string(after.Data)})
	}
	return bug, nil
}

// fact reads one line of the head.
func (b *Bug) fact(line string) error {
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "reference":
		b.Reference = value
	case "found":
		b.Found = value
	case "wrong":
		b.Wrong = value
	case "catch":
		b.Package, b.Run, _ = strings.Cut(value, " ")
	case "within":
		within, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
		b.Within = within
	default:
		return fmt.Errorf("unknown key in %q", line)
	}
	return nil
}

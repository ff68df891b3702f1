package seeded

import (
	"fmt"
	"strings"
)

// Table returns a Markdown table of all bugs.
func Table() (string, error) {
	bugs, err := All()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| bug | what went wrong | who found it | part of ours | caught by |\n|---|---|---|---|---|\n")
	for _, bug := range bugs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s %s` |\n", cell(bug.Reference), cell(bug.Wrong), cell(bug.Found), bug.Layer(),
			strings.TrimPrefix(bug.Package, "./"), cell(strings.NewReplacer("^", "", "$", "").Replace(bug.Run)))
	}
	return b.String(), nil
}

// Layer returns the part of the operator that the bug is in.
func (b Bug) Layer() string {
	switch folder, _, _ := strings.Cut(b.Edits[0].File, "/"); {
	case strings.HasPrefix(b.Edits[0].File, "training/plan/"):
		return "planner"
	case folder == "controller":
		return "engine"
	case folder == "convert", strings.HasPrefix(b.Edits[0].File, "training/convert/"):
		return "converter"
	default:
		return folder
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

package seeded

import (
	"fmt"
	"regexp"
	"strings"
)

// Table returns a Markdown table of all bugs: name, where it was reported, and the test that catches it.
func Table() (string, error) {
	bugs, err := All()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| bug, and who had it | caught by |\n|---|---|\n")
	for _, bug := range bugs {
		fmt.Fprintf(&b, "| %s, %s | `%s %s` |\n", bug.Name, cell(bug.report()),
			strings.TrimPrefix(bug.Package, "./"), cell(strings.NewReplacer("^", "", "$", "").Replace(bug.Run)))
	}
	return b.String(), nil
}

// issue matches the number of an issue of a project.
var issue = regexp.MustCompile(`[\w.-]+/[\w.-]+#\d+`)

// report returns the first issue that the reference names, else the project that had the bug, without the place in its source.
func (b Bug) report() string {
	if first := issue.FindString(b.Reference); first != "" {
		return first
	}
	project, _, _ := strings.Cut(b.Reference, ",")
	project, _, _ = strings.Cut(project, ":")
	return project
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

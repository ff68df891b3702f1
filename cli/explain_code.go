package cli

import (
	"fmt"
	"path"
	"strings"

	"stoic/examples"
	"stoic/schema"
	"stoic/schema/crd/check"
)

// explainCode returns the meaning of a code, with an example.
func explainCode(code schema.Code) (string, error) {
	shown, err := examples.MistakeOf(string(code))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CODE: %s\n", code)
	section(&b, "MEANING", wrapped(code.Meaning()))
	section(&b, "SEVERITY", wrapped(code.Severity()))
	section(&b, "WHAT TO DO", wrapped(code.Remedy()))
	section(&b, "EXAMPLE", wrapped(shown.About))
	fmt.Fprintf(&b, "\n    # examples/%s\n    %s\n", shown.File, indented(strings.TrimSpace(shown.Manifest)))
	fmt.Fprintf(&b, "\n    $ stoic validate %s\n    %s\n", path.Base(shown.File), indented(strings.TrimSpace(shown.Reported)))
	return b.String(), nil
}

// explainTopic returns the meaning of a code about CRDs.
func explainTopic(topic check.Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CODE: %s\n", topic.Code)
	severity := "Warning: stoic crd check fails on it with --strict only."
	if topic.Error {
		severity = "Error: stoic crd check fails."
	}
	section(&b, "MEANING", wrapped(topic.Meaning))
	section(&b, "SEVERITY", wrapped(severity))
	section(&b, "WHAT TO DO", wrapped(topic.Remedy))
	return b.String()
}

// section prints a text below its heading, indented as kubectl explain does.
func section(b *strings.Builder, heading, text string) {
	if text != "" {
		b.WriteString("\n" + heading + ":\n    " + indented(text) + "\n")
	}
}

// indented indents all lines but the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// wrapped breaks a text into lines for a terminal of 80 columns, less the indentation.
func wrapped(text string) string {
	const width = 76
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

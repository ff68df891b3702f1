package cli

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
)

// runnerCommand is how the runner of GitHub Actions reads one line.
type runnerCommand struct {
	name       string
	properties map[string]string
	data       string
}

// readCommand reads a line as the runner does: properties end at the first "::", are separated by commas, and their
// names end at the first "=".
func readCommand(line string) (c runnerCommand, ok bool) {
	rest, ok := strings.CutPrefix(line, "::")
	head, data, closed := strings.Cut(rest, "::")
	if !ok || !closed {
		return c, false
	}
	c.data = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(data)
	c.properties = map[string]string{}
	c.name, head, _ = strings.Cut(head, " ")
	for _, p := range strings.Split(head, ",") {
		key, value, _ := strings.Cut(p, "=")
		c.properties[key] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
	}
	return c, true
}

// checkCommands checks that each line is one command, with the content of its finding.
func checkCommands(t *testing.T, out string, findings []finding) {
	t.Helper()
	lines := strings.Split(out, "\n")
	if len(lines) != len(findings)+1 || lines[len(findings)] != "" || strings.Contains(out, "\r") {
		t.Fatalf("%d lines for %d findings:\n%s", len(lines)-1, len(findings), out)
	}
	for i, f := range findings {
		got, ok := readCommand(lines[i])
		want := runnerCommand{name: f.Severity, data: f.Message, properties: map[string]string{"title": string(f.Code)}}
		if f.File == "" || f.File == standardInput {
			want.data = f.place() + ": " + f.Message
		} else {
			want.properties["file"], want.properties["line"], want.properties["col"] = f.File, strconv.Itoa(f.Line), strconv.Itoa(f.Column)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(runnerCommand{})); diff != "" || !ok {
			t.Errorf("%s\n%s", lines[i], diff)
		}
	}
}

// TestNoCommandInside: neither the name of a file nor a text can end a command and begin another.
func TestNoCommandInside(t *testing.T) {
	for _, evil := range []string{"a\n::set-env name=PATH::x", "a\r\n::stop-commands::x", "a::b", "a,line=9", "a%0A::error::b", "%25", "::", "", "a b=c", "\u2028::error::x"} {
		file := evil
		if file == "" {
			file = "x"
		}
		r := report{Results: []finding{
			{File: file, Line: 1, Column: 2, Severity: "error", Code: schema.InvalidValue, Message: evil},
			{Severity: "warning", Code: schema.UnknownField, Message: evil, Object: name{Kind: "TFJob", Namespace: evil, Name: evil}},
			{File: standardInput, Line: 1, Column: 2, Severity: "error", Code: schema.InvalidValue, Message: evil}}}
		var b bytes.Buffer
		if err := r.github(&b); err != nil {
			t.Fatal(err)
		}
		checkCommands(t, b.String(), r.Results)
	}
}

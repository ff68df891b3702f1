package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// github prints the report as workflow commands of GitHub Actions: one line per finding, which becomes an annotation of its line. The
// message of a finding without a file contains its position.
//
//	::error file=NAME,line=LINE,col=COLUMN,title=CODE::MESSAGE
func (r *report) github(out io.Writer) error {
	var b bytes.Buffer
	shown := r.Results
	if r.grouped {
		shown = r.errorsAndFirstWarnings()
	}
	for _, f := range shown {
		file, message := "", f.place()+": "+f.Message
		if f.File != "" && f.File != standardInput {
			file = fmt.Sprintf("file=%s,line=%d,col=%d,", property(filepath.ToSlash(f.File)), f.Line, f.Column)
			message = f.Message
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", f.Severity, file, property(string(f.Code)), data(message))
	}
	_, err := out.Write(b.Bytes())
	return err
}

// errorsAndFirstWarnings returns all errors, and the first warning of each code, which says how many there are.
func (r *report) errorsAndFirstWarnings() (shown []finding) {
	for _, f := range r.Results {
		if f.Severity == "error" {
			shown = append(shown, f)
		}
	}
	for _, g := range r.warningsByCode() {
		g.first.Message += g.more()
		shown = append(shown, g.first)
	}
	return shown
}

// data escapes the text of a command, so that it cannot end the line and begin another command.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes the value of a property, so that it cannot begin another property or the text.
func property(value string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(value))
}

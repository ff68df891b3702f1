package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// report is what was found in all files. As JSON it is an interface: fields are added, not renamed.
type report struct {
	Summary summary   `json:"summary"`
	Results []finding `json:"results"`

	objects []checked
}

type summary struct {
	Documents int `json:"documents"`
	Rejected  int `json:"rejected"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Skipped   int `json:"skipped"`
}

// finding is one problem at its place.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	Path     string `json:"path"`
	Found    string `json:"found,omitempty"`
	Expected string `json:"expected,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Message  string `json:"message"`
	Object   name   `json:"object"`
}

type name struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// checked is one object in which something was found, and the end of its findings in Results.
type checked struct {
	file             string
	name             name
	errors, warnings int
	end              int
}

// json prints the report for programs.
func (r *report) json(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if r.Results == nil {
		r.Results = []finding{}
	}
	return encoder.Encode(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		*report
	}{"stoic/v1", "ValidationReport", r})
}

// text prints the report for people, one line for each finding, in the form that editors jump to.
func (r *report) text(out io.Writer) error {
	var b bytes.Buffer
	start := 0
	for _, object := range r.objects {
		for _, f := range r.Results[start:object.end] {
			fmt.Fprintf(&b, "%s:%d:%d: %s: %s [%s]\n", f.File, f.Line, f.Column, f.Severity, f.Message, f.Code)
		}
		start = object.end
		if object.name.Kind != "" {
			fmt.Fprintf(&b, "%s: %s %s: %s\n", object.file, object.name.Kind, object.name, counts(object.errors, object.warnings))
		}
	}
	fmt.Fprintf(&b, "%s checked, %d rejected", plural(r.Summary.Documents, "document"), r.Summary.Rejected)
	if r.Summary.Warnings > 0 {
		fmt.Fprintf(&b, ", %s", plural(r.Summary.Warnings, "warning"))
	}
	if r.Summary.Skipped > 0 {
		fmt.Fprintf(&b, ", %d of other kinds skipped", r.Summary.Skipped)
	}
	b.WriteByte('\n')
	_, err := out.Write(b.Bytes())
	return err
}

func (n name) String() string {
	switch {
	case n.Name == "":
		return "without a name"
	case n.Namespace == "":
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

func counts(errors, warnings int) string {
	switch {
	case warnings == 0:
		return plural(errors, "error")
	case errors == 0:
		return plural(warnings, "warning")
	}
	return plural(errors, "error") + ", " + plural(warnings, "warning")
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

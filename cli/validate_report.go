package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// report is what was found in all files, or in a cluster. Its JSON is an interface: fields may be added, not renamed.
type report struct {
	Summary summary   `json:"summary"`
	Results []finding `json:"results"`
	// Notes say what is skipped.
	Notes []string `json:"notes,omitempty"`

	definitions definitions                // the kinds that --crd names
	schemas     map[string]*convert.Schema // of the CRDs of our kinds; see installed
	// askAboutPods returns what a cluster's API server refuses of the pods of a job; nil: none is asked.
	askAboutPods func(kind *training.Kind, fields map[string]any) []schema.Problem
	templates    []string // files in folders that are templates, and not rendered
	verbose      bool
	grouped      bool // text and github have one line for all warnings of a code
	objects      []checked
	ignore       []schema.Code
	// noun is what was checked, in the singular.
	noun string
	// codes are those that findings may have; nil: those of objects.
	codes []schema.Code
}

type summary struct {
	Documents int `json:"documents"`
	Rejected  int `json:"rejected"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Skipped   int `json:"skipped"`
	Ignored   int `json:"ignored"` // findings, which are in no other count
}

// finding is one problem with its position. An object of a cluster has no file, line and column.
type finding struct {
	File     string      `json:"file,omitempty"`
	Line     int         `json:"line,omitempty"`
	Column   int         `json:"column,omitempty"`
	Severity string      `json:"severity"` // error or warning
	Code     schema.Code `json:"code"`
	Path     string      `json:"path"`
	Found    string      `json:"found,omitempty"`
	Expected string      `json:"expected,omitempty"`
	Hint     string      `json:"hint,omitempty"`
	Message  string      `json:"message"`
	Object   name        `json:"object"`
}

// place returns where the finding is, in the form that editors jump to.
func (f finding) place() string {
	if f.File == "" {
		return f.Object.ref()
	}
	return fmt.Sprintf("%s:%d:%d", oneLine(f.File), f.Line, f.Column)
}

type name struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func nameOf(head *training.Head) name {
	return name{Kind: head.Kind.Name, Namespace: schema.Clean(head.Meta.Namespace, 253), Name: schema.Clean(head.Meta.Name, 253)}
}

// ref returns tfjob/NAMESPACE/NAME, as far as these are known.
func (n name) ref() string {
	parts := []string{strings.ToLower(n.Kind), n.Namespace, n.Name}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "/")
}

// checked is one object in which something was found, and the end of its findings in Results.
type checked struct {
	file             string // empty for an object of a cluster
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

// text prints the report for readers, one line per finding.
func (r *report) text(out io.Writer) error {
	var b bytes.Buffer
	start := 0
	for _, object := range r.objects {
		for _, f := range r.Results[start:object.end] {
			if !r.grouped || f.Severity == "error" {
				fmt.Fprintf(&b, "%s: %s: %s [%s]\n", f.place(), f.Severity, f.Message, f.Code)
			}
		}
		start = object.end
		switch {
		case r.grouped && object.errors == 0:
		case object.file == "":
			fmt.Fprintf(&b, "%s: %s\n", object.name.ref(), counts(object.errors, object.warnings))
		case object.name.Kind != "":
			fmt.Fprintf(&b, "%s: %s %s: %s\n", oneLine(object.file), object.name.Kind, object.name, counts(object.errors, object.warnings))
		}
	}
	further := false
	if r.grouped {
		for _, g := range r.warningsByCode() {
			fmt.Fprintf(&b, "%s: warning: %s [%s]%s\n", g.first.place(), g.first.Message, g.first.Code, g.more())
			further = further || g.count > 1
		}
	}
	fmt.Fprintf(&b, "%s checked, %d rejected", plural(r.Summary.Documents, cmp.Or(r.noun, "document")), r.Summary.Rejected)
	if r.Summary.Warnings > 0 {
		fmt.Fprintf(&b, ", %s", plural(r.Summary.Warnings, "warning"))
	}
	if r.Summary.Skipped > 0 {
		fmt.Fprintf(&b, ", %d of other kinds skipped", r.Summary.Skipped)
	}
	if r.Summary.Ignored > 0 {
		fmt.Fprintf(&b, ", %s ignored", plural(r.Summary.Ignored, "finding"))
	}
	if further {
		b.WriteString("; -v prints all")
	}
	b.WriteByte('\n')
	_, err := out.Write(b.Bytes())
	return err
}

// warningGroup is all warnings of one code.
type warningGroup struct {
	first finding
	count int
}

// more says how many there are besides the first; empty if there is no other.
func (g warningGroup) more() string {
	if g.count == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", g.count-1)
}

// warningsByCode returns the warnings of all objects, those of the first object first.
func (r *report) warningsByCode() (groups []warningGroup) {
	for _, f := range r.Results {
		if f.Severity != "warning" {
			continue
		}
		i := slices.IndexFunc(groups, func(g warningGroup) bool { return g.first.Code == f.Code })
		if i < 0 {
			i, groups = len(groups), append(groups, warningGroup{first: f})
		}
		groups[i].count++
	}
	return groups
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

// oneLine returns a file's name in a form that fits on one line: a file name must be able neither to forge lines of output nor to contain
// commands for a program that reads it.
func oneLine(file string) string {
	if strings.HasPrefix(file, "::") {
		file = "./" + file
	}
	return schema.Clean(file, 4096)
}

// skip counts an object of another API, and names it if the user wants to know.
func (r *report) skip(e entry) {
	r.Summary.Skipped++
	if !r.verbose {
		return
	}
	line, _ := e.doc.position(placeOf(e.located()))
	what := "a document that is no object"
	if fields, ok := e.raw.(map[string]any); ok {
		apiVersion, _ := fields["apiVersion"].(string)
		kind, _ := fields["kind"].(string)
		what = fmt.Sprintf("%s of %s", cmp.Or(schema.Clean(kind, 253), "an object without kind"), cmp.Or(schema.Clean(apiVersion, 253), "no apiVersion"))
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s:%d is skipped: %s", oneLine(e.file), line, what))
}

// noteTemplates says which files are skipped because they are templates.
func (r *report) noteTemplates() {
	files := slices.Compact(slices.Sorted(slices.Values(r.templates)))
	switch {
	case len(files) == 0:
		return
	case r.verbose:
		for _, file := range files {
			r.Notes = append(r.Notes, oneLine(file)+" is skipped: it is a template that is not rendered")
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s skipped as templates that are not rendered, %s first; pipe `helm template` into this command", plural(len(files), "file"), oneLine(files[0])))
}

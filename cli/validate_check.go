package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/schema/crd/check"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
	"stoic/training/versions/offline"
)

// entry is one object in a document: its value and its position.
type entry struct {
	file string
	doc  document
	raw  any
	node *yamlnode.Node
	// prefix leads from the document to the object: empty, or items[3] in a list, or items[3].items[0] in a list in a list.
	prefix string
}

func (r *report) document(file string, doc document) { r.each(file, doc, r.object) }

// each calls see for the object in a document, or for those in a list.
func (r *report) each(file string, doc document, see func(entry)) {
	e, err := parsed(file, doc)
	if err != nil {
		r.syntax(e, err)
		return
	}
	e.each(see)
}

// each calls see for the object, or for those in a list. A list may contain lists: kubectl applies what is in them.
func (e entry) each(see func(entry)) {
	items, ok := itemsOf(e.raw)
	if !ok {
		see(e)
		return
	}
	for i, item := range items {
		e.item(i, item).each(see)
	}
}

// item returns the entry of an item of a list.
func (e entry) item(i int, item any) entry {
	e.prefix, e.raw = joined(e.prefix, fmt.Sprintf("items[%d]", i)), item
	return e
}

// parsed reads a document. The entry has a position even if the document cannot be read.
func parsed(file string, doc document) (e entry, err error) {
	e = entry{file: file, doc: doc, node: &yamlnode.Node{Line: 1, Column: 1}}
	if e.raw, err = fromYAML(doc.text); err != nil {
		return e, err
	}
	var node yamlnode.Node
	decoder := yamlnode.NewDecoder(bytes.NewReader(doc.text))
	switch err := decoder.Decode(&node); {
	case errors.Is(err, io.EOF):
		return e, nil // nothing but comments
	case err != nil:
		return e, err // an error behind the first document, which fromYAML has read
	case len(node.Content) == 0:
		return e, nil
	}
	e.node = &node
	return e, nothingElse(decoder)
}

// parsedInLine is parsed, with an error that names the line of the file and what is wrong there.
func parsedInLine(doc document) (entry, error) {
	e, err := parsed("", doc)
	if err == nil {
		return e, nil
	}
	at, p := unreadable(e, err)
	line, _ := doc.position(at)
	return e, fmt.Errorf("line %d: %s", line, p)
}

// furtherDocument is the error for a document that begins without a line of dashes before it: after "..." or a superfluous brace, or on
// the line of the dashes. fromYAML silently ignores such a document.
type furtherDocument place

func (f *furtherDocument) Error() string { return f.problem().String() }

func (f *furtherDocument) problem() schema.Problem {
	return schema.Problem{Code: schema.InvalidValue, Found: "a further document", Want: "begin after a line ---"}
}

// nothingElse returns an error unless the decoder is at the end of the text.
func nothingElse(decoder *yamlnode.Decoder) error {
	var further yamlnode.Node
	err := decoder.Decode(&further)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		at := placeOf(resolve(&further)) // the document itself begins where the one before it ends
		return (*furtherDocument)(&at)
	}
	at, _ := inError(err)
	return (*furtherDocument)(&at)
}

// fromYAML returns a YAML document as JSON values, with integers of 64 bits.
func fromYAML(text []byte) (value any, err error) {
	if text, err = yaml.YAMLToJSON(text); err == nil {
		err = kjson.Unmarshal(text, &value)
	}
	return value, err
}

// itemsOf returns the items of a list of objects.
func itemsOf(raw any) (items []any, ok bool) {
	fields, _ := raw.(map[string]any)
	kind, _ := fields["kind"].(string)
	items, ok = fields["items"].([]any)
	return items, ok && strings.HasSuffix(kind, "List")
}

// lineInError finds the line and the text in an error of the YAML parser.
var lineInError = regexp.MustCompile(`(?:yaml: )?(?:line (\d+): )?([^\n]*)$`)

const templateHint = "this looks like a template that is not rendered; pipe `helm template` into this command"

// syntax reports a document that is not YAML.
func (r *report) syntax(e entry, err error) {
	at, p := unreadable(e, err)
	r.Summary.Documents++
	object := checked{file: e.file}
	r.add(e, &object, "error", at, p)
	r.finish(object)
}

// unreadable returns where and why a document is not YAML.
func unreadable(e entry, err error) (place, schema.Problem) {
	var further *furtherDocument
	if errors.As(err, &further) {
		return place(*further), further.problem()
	}
	at, message := inError(err)
	message, _, _ = strings.Cut(message, ": map[") // a key that is no string, as Go prints it
	p := schema.Problem{Code: schema.InvalidValue, Found: "a document that is not YAML: " + schema.Clean(message, 200), Want: "be YAML or JSON"}
	if bytes.Contains(e.doc.text, []byte("{{")) {
		p.Hint = templateHint
	}
	return at, p
}

// inError returns where an error of the parser is, and its text.
func inError(err error) (at place, message string) {
	message = err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		message = inner.Error()
	}
	at = place{line: 1, column: 1}
	if found := lineInError.FindStringSubmatch(message); found != nil {
		if line, err := strconv.Atoi(found[1]); err == nil {
			at.line = line
		}
		message = found[2]
	}
	return at, message
}

// object checks one object, if its kind is one that this program serves, or that --crd names.
func (r *report) object(e entry) {
	if list, ok := e.raw.([]any); ok && slices.ContainsFunc(list, r.knows) {
		r.checked(e, checked{file: e.file}, []schema.Problem{listed()}, nil)
		return
	}
	fields, _ := e.raw.(map[string]any)
	kind, problems := recognize(fields)
	if kind == nil && len(problems) == 0 {
		r.custom(e, fields)
		return
	}
	object := checked{file: e.file}
	var warnings []schema.Problem
	if kind != nil {
		result := convert.Object(kind, &unstructured.Unstructured{Object: fields})
		object.name = nameOf(result.Head)
		if result.Rejection != nil {
			problems = append(problems, result.Rejection.Problems...)
		}
		warnings = result.Warnings
		older(fields, problems)
	}
	r.checked(e, object, problems, warnings)
}

// knows reports whether a value looks like an object that would be checked.
func (r *report) knows(value any) bool {
	fields, _ := value.(map[string]any)
	kind, problems := recognize(fields)
	s, further := recognizeCustom(r.customs, fields)
	return kind != nil || s != nil || len(problems)+len(further) > 0
}

// listed returns the problem of a list in place of an object. kubectl rejects such a list.
func listed() schema.Problem {
	return schema.Problem{Code: schema.TypeMismatch, Found: "a list", Want: "be an object", Hint: "write documents with a line --- between, or a List"}
}

// older adds a hint for an object in a form of an older operator: how to convert it to the current form.
func older(fields map[string]any, problems []schema.Problem) {
	version, _ := fields["apiVersion"].(string)
	name, _ := fields["kind"].(string)
	if !slices.Contains(offline.Forms(), name+" of "+version) {
		return
	}
	for i, p := range problems {
		if p.Path == "apiVersion" {
			problems[i].Hint = "`stoic convert` writes it as kubeflow.org/v1"
		}
	}
}

// checked adds what was found in an object of a file.
func (r *report) checked(e entry, object checked, problems, warnings []schema.Problem) {
	r.Summary.Documents++
	for _, p := range problems {
		r.problem(e, &object, "error", p)
	}
	for _, p := range warnings {
		r.problem(e, &object, "warning", p)
	}
	r.oddities(e, &object)
	r.finish(object)
}

// recognize finds the kind of an object. Problems without a kind say why it is unknown although the object is of our API group. Neither
// means that the object belongs to another API.
func recognize(fields map[string]any) (*training.Kind, []schema.Problem) {
	version, _ := fields["apiVersion"].(string)
	name, _ := fields["kind"].(string)
	group, _, _ := strings.Cut(version, "/")
	for _, kind := range kinds.Served() {
		if kind.APIVersion() == version && strings.EqualFold(name, kind.Name) {
			return kind, nil
		}
	}
	for _, kind := range kinds.All() {
		switch {
		case group != kind.Group && version != "":
		case strings.EqualFold(name, kind.Name) && version == "":
			return kind, []schema.Problem{{Code: schema.MissingField, Path: "apiVersion", Want: "be set", Hint: `write "` + kind.APIVersion() + `"`}}
		case strings.EqualFold(name, kind.Name):
			return kind, nil
		case name == "" && group == kind.Group:
			return nil, []schema.Problem{{Code: schema.MissingField, Path: "kind", Want: "be set"}}
		}
	}
	return nil, nil
}

// oddities reports what only the text shows: keys that differ from what they seem, and templates that are not rendered.
func (r *report) oddities(e entry, object *checked) {
	node := e.node
	for _, step := range stepsOf(e.prefix) {
		if _, value := child(node, step); value != nil {
			node = value
		}
	}
	keys(node, "", func(path string, key *yamlnode.Node, again bool) {
		p := schema.Problem{Path: path}
		if again {
			// The others are silently lost, here as in kubectl.
			p.Code, p.Found, p.Hint = schema.DuplicateName, "a key that is here twice", "only the last one counts"
		} else if word := truth(key); word != "" {
			p.Code, p.Found, p.Hint = schema.InvalidValue, "a key that YAML reads as "+word, "quote it: "+schema.Quote(key.Value)
		} else {
			return
		}
		r.add(e, object, "warning", place{line: key.Line, column: key.Column}, p)
	})
	if at := bytes.Index(e.doc.text, []byte("{{")); at >= 0 && object.errors > 0 && e.prefix == "" {
		before := e.doc.text[:at]
		column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		r.add(e, object, "warning", place{line: 1 + bytes.Count(before, []byte("\n")), column: column},
			schema.Problem{Code: schema.InvalidValue, Found: `"{{"`, Hint: templateHint})
	}
}

// problem reports what the converter found, with its position.
func (r *report) problem(e entry, object *checked, severity string, p schema.Problem) {
	onKey := p.Found == "" && slices.Contains([]schema.Code{schema.UnknownField, schema.MisplacedField, check.FieldDropped}, p.Code)
	path := p.Path
	if e.prefix != "" {
		path = e.prefix + "." + path
	}
	at := find(e.node, path, onKey)
	if strings.HasPrefix(p.Hint, "quote it: ") && at.scalar != nil {
		p.Hint = "quote it: " + schema.Quote(at.scalar.Value) // yes, not true; 1.10, not 1.1
	}
	r.add(e, object, severity, at, p)
}

func (r *report) add(e entry, object *checked, severity string, at place, p schema.Problem) {
	switch {
	case slices.Contains(r.ignore, p.Code):
		r.Summary.Ignored++
		return
	case severity == "error":
		object.errors++
		r.Summary.Errors++
	default:
		object.warnings++
		r.Summary.Warnings++
	}
	line, column := e.doc.position(at)
	r.Results = append(r.Results, finding{
		File: e.file, Line: line, Column: column, Severity: severity, Code: p.Code, Path: p.Path,
		Found: p.Found, Expected: strings.TrimPrefix(p.Want, "be "), Hint: p.Hint, Message: p.String(), Object: object.name,
	})
}

// finish sorts the findings of an object by their position in the file.
func (r *report) finish(object checked) {
	if object.errors > 0 {
		r.Summary.Rejected++
	}
	own := r.Results[len(r.Results)-object.errors-object.warnings:]
	slices.SortStableFunc(own, func(a, b finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(own) > 0 {
		object.end = len(r.Results)
		r.objects = append(r.objects, object)
	}
}

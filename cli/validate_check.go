package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlnode "go.yaml.in/yaml/v3"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/schema/crd/check"
)

// entry is one object in a document: its value and its position.
type entry struct {
	file string
	doc  document
	raw  any
	node *yamlnode.Node
	// prefix leads from the document to the object: empty, or items[3] in a list, or items[3].items[0] in a list in a list.
	prefix string
	// host is the document of another API that the object is in; nil for an object that is a document, or in a list.
	host *document
	// unnamed is set if the operator of the host gives the object its name.
	unnamed bool
}

func (r *report) document(file string, doc document) { r.each(file, doc, r.object) }

// each calls see for the object in a document, or for those in a list.
func (r *report) each(file string, doc document, see func(entry)) {
	e, err := parsed(file, doc)
	r.eachParsed(e, err, see)
}

// eachParsed is each for a document that was parsed, or that could not be.
func (r *report) eachParsed(e entry, err error, see func(entry)) {
	switch {
	case err != nil && e.doc.isTemplate():
		r.templates = append(r.templates, e.file)
	case err != nil:
		r.syntax(e, err)
	default:
		e.each(see)
	}
}

// each calls see for the object, or for those in a list. A list may contain lists: kubectl applies what is in them.
func (e entry) each(see func(entry)) {
	items, ok := itemsOf(e.raw)
	if !ok {
		see(e)
		return
	}
	for i, item := range items {
		e.item(i, typed(item, e.raw)).each(see)
	}
}

// typed returns an item of a list such as a PyTorchJobList with the kind that the list says it has, if it has none itself. A list by an
// API server has such items.
func typed(item, list any) any {
	fields, _ := item.(map[string]any)
	of, _ := list.(map[string]any)
	kind, _ := of["kind"].(string)
	if fields == nil || kind == "List" || fields["kind"] != nil || fields["apiVersion"] != nil {
		return item
	}
	fields = maps.Clone(fields)
	fields["kind"], fields["apiVersion"] = strings.TrimSuffix(kind, "List"), of["apiVersion"]
	return fields
}

// item returns the entry of an item of a list.
func (e entry) item(i int, item any) entry {
	return e.at(joined(e.prefix, fmt.Sprintf("items[%d]", i)), item)
}

// at returns the entry of a value in the document.
func (e entry) at(prefix string, value any) entry {
	e.prefix, e.raw = prefix, value
	return e
}

// parsed reads a document. The entry has a position even if the document cannot be read.
func parsed(file string, doc document) (e entry, err error) {
	e = entry{file: file, doc: doc, node: &yamlnode.Node{Line: 1, Column: 1}}
	if e.raw, err = fromYAML(doc.text); err != nil {
		return e, cmp.Or(infinite(doc.text), err)
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

// notFinite is the error for a number that JSON does not have.
type notFinite struct {
	place
	text string
}

func (n *notFinite) Error() string { return n.problem().String() }

func (n *notFinite) problem() schema.Problem {
	return schema.Problem{Code: schema.InvalidValue, Found: schema.Clean(n.text, 20), Want: "be a finite number", Hint: "quote it if it is a text: " + schema.Quote(n.text)}
}

// infinite returns an error for the first number in a text that is infinite or none at all; nil if there is no such number.
func infinite(text []byte) error {
	var root yamlnode.Node
	if yamlnode.Unmarshal(text, &root) != nil {
		return nil
	}
	var look func(node *yamlnode.Node) error
	look = func(node *yamlnode.Node) error {
		var f float64
		if node.Kind == yamlnode.ScalarNode && node.ShortTag() == "!!float" && node.Decode(&f) == nil && (math.IsInf(f, 0) || math.IsNaN(f)) {
			return &notFinite{placeOf(node), node.Value}
		}
		for _, child := range node.Content { // an alias has none
			if err := look(child); err != nil {
				return err
			}
		}
		return nil
	}
	return look(&root)
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
	var number *notFinite
	if errors.As(err, &number) {
		return number.place, number.problem()
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
	is := recognize(fields)
	if !is.ofOurAPI() {
		nested := nestedJobs(e, fields)
		for _, job := range nested {
			r.object(job)
		}
		r.custom(e, fields, len(nested) > 0)
		return
	}
	object := checked{file: e.file, name: nameOfFields(fields)}
	problems, warnings := is.problems, is.warnings
	if is.kind != nil {
		of, wrong, doubtful := r.job(is.kind, fields, e.unnamed)
		object.name = of
		if line, _ := e.doc.position(find(e.node, joined(e.prefix, "metadata.name"), false)); e.hasPlaceholder(line) {
			object.name.Name = ""
		}
		problems, warnings = append(problems, wrong...), append(warnings, doubtful...)
		if r.askAboutPods != nil && len(problems) == 0 && e.host == nil {
			problems = r.askAboutPods(is.kind, fields)
		}
		wrong, doubtful = tooLarge(e, fields)
		problems, warnings = append(problems, wrong...), append(warnings, doubtful...)
	}
	r.checked(e, object, problems, warnings)
}

// nameOfFields returns the kind and name that an object says of itself.
func nameOfFields(fields map[string]any) (of name) {
	meta, _ := fields["metadata"].(map[string]any)
	of.Kind, _ = fields["kind"].(string)
	of.Namespace, _ = meta["namespace"].(string)
	of.Name, _ = meta["name"].(string)
	return name{Kind: schema.Clean(of.Kind, 253), Namespace: schema.Clean(of.Namespace, 253), Name: schema.Clean(of.Name, 253)}
}

// knows reports whether a value looks like an object that would be checked.
func (r *report) knows(value any) bool {
	fields, _ := value.(map[string]any)
	s, problems := r.definitions.recognize(fields)
	return recognize(fields).ofOurAPI() || s != nil || len(problems) > 0
}

// listed returns the problem of a list in place of an object. kubectl rejects such a list.
func listed() schema.Problem {
	return schema.Problem{Code: schema.TypeMismatch, Found: "a list", Want: "be an object", Hint: "write documents with a line --- between, or a List"}
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

// oddities reports what only the text shows: keys that differ from what they seem, and templates that are not rendered.
func (r *report) oddities(e entry, object *checked) {
	keys(e.located(), "", func(path string, key *yamlnode.Node, again bool) {
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
	line, column := e.doc.position(at)
	switch {
	case e.hasPlaceholder(line):
		return
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

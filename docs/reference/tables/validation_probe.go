package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
)

// survey puts wrong values into a valid job, one at a time, and records what the converter says. After each it restores the job.
type survey struct {
	kind     *training.Kind
	whole    map[string]any // a right job, but while something is being tried
	sections []*section     // in the order in which their types are met first
	known    map[string]*section
	count    map[string]int // sections of a type
	aside    []string       // places whose problems are ignored
}

// section is a struct type, as the converter treats it in some places.
type section struct {
	name    string
	object  reflect.Type
	places  []string
	strange []reported // of a field that the type has not
	rows    []row
}

type row struct {
	field
	link     *section // of what it is made, if that is looked at
	reported []reported
	note     string // about a field without problems
}

// reported is what the converter says of some values of a field.
type reported struct {
	heard             // the first of its kind
	where, code, text string
	values            []string // that get it
}

// right returns a valid job, with something to refer to.
func right(kind *training.Kind) map[string]any {
	rtypes := map[string]any{}
	for _, known := range kind.ReplicaTypes {
		if !known.Required && known.Name != "Worker" {
			continue
		}
		rtype := map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": cmp.Or(kind.Container, "x"), "image": "x"}},
			"volumes":    []any{map[string]any{"name": "x"}},
		}}}
		if known.Replicas < known.AtLeast {
			rtype["replicas"] = int64(known.AtLeast)
		}
		rtypes[known.Name] = rtype
	}
	return map[string]any{
		"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": map[string]any{"name": "x", "namespace": "default"},
		"spec": map[string]any{kind.ReplicaSpecsField: rtypes},
	}
}

func newSurvey(kind *training.Kind) *survey {
	return &survey{kind: kind, whole: right(kind), known: map[string]*section{}, count: map[string]int{}}
}

// surveyOf surveys all fields of a kind.
func surveyOf(kind *training.Kind) (*survey, error) {
	s := newSurvey(kind)
	_, err := s.visit(kind.Wire, "", s.whole, nil)
	return s, err
}

func (s *survey) convert() *convert.Result {
	return convert.Object(s.kind, &unstructured.Unstructured{Object: s.whole})
}

// heard is one answer of the converter.
type heard struct {
	schema.Problem
	warning bool
}

// code returns the code of the problem, in backquotes, and whether it is a warning.
func (h heard) code() string {
	if h.warning {
		return "warning " + code(string(h.Code))
	}
	return code(string(h.Code))
}

// ask returns everything that the converter reports now.
func (s *survey) ask() []heard {
	result := s.convert()
	var all []heard
	for _, p := range result.Warnings {
		all = append(all, heard{p, true})
	}
	if result.Rejection != nil {
		for _, p := range result.Rejection.Problems {
			all = append(all, heard{p, false})
		}
	}
	return slices.DeleteFunc(all, func(h heard) bool { return slices.Contains(s.aside, h.Path) })
}

// visit surveys an object of type t, which is part of the whole and is at that path.
func (s *survey) visit(t reflect.Type, path string, object map[string]any, above []reflect.Type) (*section, error) {
	if err := s.settle(t, path, object); err != nil {
		return nil, err
	}
	at := len(s.sections)
	s.sections = append(s.sections, nil) // its place, before those of types below
	found := &section{object: t}
	above = append(above, t)
	for _, f := range fieldsOf(t) {
		r, err := s.field(f, path, object, above)
		if err != nil {
			return nil, err
		}
		found.rows = append(found.rows, r)
	}
	object[unheardOf] = "x"
	for _, p := range s.ask() {
		found.strange = add(found.strange, form{}.placed(p, join(path, unheardOf), path), "")
	}
	delete(object, unheardOf)

	key := found.identity()
	if same := s.known[key]; same != nil {
		same.places = append(same.places, path)
		s.sections = slices.Delete(s.sections, at, at+1)
		return same, nil
	}
	s.known[key], s.sections[at] = found, found
	found.places = []string{path}
	found.name = found.plainName()
	if s.count[found.name]++; s.count[found.name] > 1 {
		found.name += fmt.Sprint(" ", s.count[found.name])
	}
	return found, nil
}

// plainName returns the name of the type, with the version of its package.
func (s *section) plainName() string {
	name := strings.TrimSuffix(s.object.Name(), "Object")
	if version := path.Base(s.object.PkgPath()); versionOf.MatchString(version) && strings.HasPrefix(s.object.PkgPath(), "stoic/") {
		name += " " + version
	}
	return name
}

var versionOf = regexp.MustCompile(`^v[0-9]`)

const unheardOf = "unheardOf"

// identity is equal for sections with the same content.
func (s *section) identity() string {
	var b strings.Builder
	said := func(all []reported) {
		for _, t := range all {
			fmt.Fprintf(&b, "%q %q %q %q\n", t.where, t.code, t.text, t.values)
		}
	}
	fmt.Fprintln(&b, s.object)
	said(s.strange)
	for _, r := range s.rows {
		link := ""
		if r.link != nil {
			link = r.link.name
		}
		fmt.Fprintf(&b, "%q %q %q %q\n", r.name, r.form, link, r.note)
		said(r.reported)
	}
	return b.String()
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keep returns a function that restores the current state of a field.
func keep(object map[string]any, name string) (restore func()) {
	before, was := object[name]
	return func() {
		if object[name] = before; !was {
			delete(object, name)
		}
	}
}

// field tries one field of an object, and surveys what is below it if the converter reads that.
func (s *survey) field(f field, path string, object map[string]any, above []reflect.Type) (row, error) {
	r := row{field: f}
	try := func(v value) {
		defer keep(object, f.name)()
		object[f.name] = v.json
		if _, left := v.json.(absent); left {
			delete(object, f.name)
		}
		for _, p := range s.ask() {
			r.reported = add(r.reported, f.form.placed(p, join(path, f.name), path), v.words)
		}
	}
	for _, v := range f.form.mistyped() {
		try(v)
	}
	var item any
	if t := f.form.struck(); t != nil && slices.ContainsFunc(r.reported, reported.rejects) && !slices.Contains(above, t) {
		var err error
		if r.link, item, err = s.below(f, path, object, above); err != nil {
			return row{}, err
		}
	}
	for _, v := range append(f.form.odd(item), value{"left out", absent{}}, plainly(nil)) {
		try(v)
	}
	if !slices.ContainsFunc(r.reported, reported.rejects) && f.form.word != wordAny {
		r.note = s.reach(f, path, object)
	}
	// Reports about fields further below are in the rows of those fields, unless two items are needed for the mistake.
	r.reported = slices.DeleteFunc(r.reported, func(t reported) bool {
		return r.link != nil && !strings.HasPrefix(t.where, "at ") && strings.Contains(t.where, ".") && !slices.Contains(t.values, twins)
	})
	return r, nil
}

// named returns the item, with a name if it can have one: two items of one name may be an error.
func named(t reflect.Type, item map[string]any) map[string]any {
	hasName := slices.ContainsFunc(fieldsOf(t), func(f field) bool { return f.name == "name" && f.form.word == wordString })
	if hasName && item["name"] == nil {
		item = maps.Clone(item)
		item["name"] = "x"
	}
	return item
}

// reach says what happens to a field that accepts any value.
func (s *survey) reach(f field, path string, object map[string]any) string {
	template := func() string {
		if job := s.convert().Job; job != nil {
			return string(job.ReplicaTypes[0].Template)
		}
		return ""
	}
	before := template()
	defer keep(object, f.name)()
	object[f.name] = f.form.right()[0]
	if strings.Contains(path, ".template") && before == template() {
		return "has no effect: it does not get into the pods"
	}
	return "not checked"
}

// placed says where a problem is, relative to the field at that path of the object above: at it, in an item or entry of it, further below
// or elsewhere.
func (f form) placed(p heard, path, above string) reported {
	t := reported{heard: p, code: p.code(), text: p.Hint}
	if p.Want != "" {
		t.text = "must " + p.Want
	}
	below, is := strings.CutPrefix(p.Path, path)
	switch {
	case p.Path == above:
		t.where = "at the object itself"
	case !is:
		t.where = "at " + code(generic(strings.TrimPrefix(p.Path, above+".")))
	case below != "" && f.word == wordMap:
		t.where = "entry" + below[stepLength(below):]
	case below != "" && f.word == wordList:
		t.where = "item" + below[stepLength(below):]
	default:
		t.where = below
	}
	return t
}

// stepLength returns the length of the first step of a path: .key, [0] or ["a key"].
func stepLength(path string) int {
	if strings.HasPrefix(path, `["`) {
		return strings.LastIndex(path, `"]`) + len(`"]`)
	}
	if i := strings.IndexAny(path[1:], ".["); i >= 0 {
		return 1 + i
	}
	return len(path)
}

// add adds what is reported for a value to what was reported for others.
func add(all []reported, t reported, words string) []reported {
	i := slices.IndexFunc(all, t.same)
	if i < 0 {
		i = len(all)
		all = append(all, t)
	}
	if words != "" && !slices.Contains(all[i].values, words) {
		all[i].values = append(all[i].values, words)
	}
	return all
}

func (t reported) same(o reported) bool {
	return t.where == o.where && t.code == o.code && t.text == o.text
}

func (t reported) rejects() bool { return !t.warning }

// generic returns a path without the parts that are specific to this job.
func generic(path string) string {
	if _, below, is := strings.Cut(path, ".Worker.template."); is {
		path = "template." + below
	}
	return anyIndex.ReplaceAllString(strings.Replace(path, ".Worker", ".*", 1), "[]")
}

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

var anyIndex = regexp.MustCompile(`\[\d+\]`)

// validation returns the page of what each wrong value gets, for each field that a job may have. It asks the converter.
func validation() (string, error) {
	all, err := surveys()
	if err != nil {
		return "", err
	}
	return all[0].page(all[1:]), nil
}

// surveys returns those of all kinds. The first is that of TFJob, whose words the page uses for what all kinds share.
func surveys() ([]*survey, error) {
	first := kinds.TFJob()
	order := append([]*training.Kind{first}, slices.DeleteFunc(kinds.Served(), func(k *training.Kind) bool { return k == first })...)
	all := make([]*survey, len(order))
	for i, kind := range order {
		var err error
		if all[i], err = surveyOf(kind); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// page describes one kind completely, and of the others what the earlier ones do not have.
func (s *survey) page(others []*survey) string {
	usual := s.usual()
	codes := map[schema.Code]bool{}
	for _, one := range append([]*survey{s}, others...) {
		for _, t := range one.all() {
			codes[t.Code] = true
		}
	}
	heading := func(kind *training.Kind) []string { return []string{"mistake, as " + versioned(kind), "gets"} }
	mistakes := table(heading(s.kind), together(s.kind, append(mistakes(), mistakesOfTFJob()...), codes))
	own, of := slices.Clone(s.sections), contents(s.sections)
	for i, other := range others {
		mistakes += "\n" + table(heading(other.kind), together(other.kind, mistakesOf(other.kind), codes))
		alone := other.without(append([]*survey{s}, others[:i]...))
		own = append(own, alone...)
		of += "\n\nOf " + versioned(other.kind) + " alone: " + contents(alone)
	}
	var b strings.Builder
	b.WriteString(introduction())
	b.WriteString("## What each type gets\n\n" + table([]string{"type", "a wrong value gets"}, usual.rows()))
	b.WriteString("\n## More than one field\n\nWhat the author reads, each of these being the only mistake in a job.\n\n" + mistakes)
	b.WriteString("\n## Codes that are not on this page\n\n" + table([]string{"code", "why"}, unseen(codes)))
	b.WriteString("\n## Types\n\n" + of + "\n")
	for _, section := range own {
		b.WriteString("\n" + section.text(usual))
	}
	return b.String()
}

// without returns the sections about types that the other surveys do not contain.
func (s *survey) without(others []*survey) []*section {
	return slices.DeleteFunc(slices.Clone(s.sections), func(section *section) bool {
		return slices.ContainsFunc(others, func(other *survey) bool { return other.count[section.plainName()] > 0 })
	})
}

// kindNames lists all kinds in the singular.
func kindNames() string {
	var names []string
	for _, kind := range kinds.All() {
		names = append(names, code(kind.Name))
	}
	return strings.Join(names, ", ")
}

// versioned returns the name of a kind, with its version if that is not the first.
func versioned(kind *training.Kind) string {
	return strings.TrimSuffix(code(kind.Name)+" "+kind.Version, " v1")
}

func introduction() string {
	return `# What a wrong value gets

For each field of ` + kindNames() + ` and of the pod templates in them. This page is not written by anyone: each line is what
the operator answers when the value is put into a right job. ` + "`stoic validate`" + ` answers the same.

* A **problem** has a [code](codes.md) and rejects the job: no pods are made, and its author is told in conditions and
  events. A **warning** is reported in an event, and the job runs.
* **Where nothing is said of a value, the operator does not mind it.** The rules of Kubernetes about pods are many and
  differ between its versions, so that only the common mistakes are found beforehand. For what is left, a
  ` + "`successThreshold`" + ` of 2 in a liveness probe for instance, the API server refuses the pod when it is created, and its answer
  reaches the author in the event ` + "`" + training.ReasonCreatePodFailed + "`" + `.
* A field may be left out, or be ` + "`null`" + `, which is the same, unless its line says otherwise.
* With the CRD installed, the API server itself refuses some of these values, in its own words, when the job is applied.
* No message repeats what may be a credential: what stands below ` + "`env`, `envFrom`, `annotations` and `httpHeaders`" + `, the
  ` + "`volumeAttributes` of `csi` and the `options` of `flexVolume`" + `, and an argument that names a credential, or whose flag does.
  It says "(not shown)" there.
* "item" is one of a list, "entry" one of a map; "at" names the place of a problem that is reported elsewhere. After a
  colon stand some of the values that were tried. ` + "`*`" + ` is any replica type, whose ` + "`template`" + ` also begins paths.
* What all kinds have, ` + "`runPolicy`" + `, replica types and their templates, is told of a ` + "`TFJob`" + ` and holds for the
  others with [their names](kinds.md) in it. The ` + "`Master`" + ` of a ` + "`PyTorchJob`" + ` and of an ` + "`XGBoostJob`" + `, and the ` + "`Launcher`" + ` of an ` + "`MPIJob`" + `,
  has one replica; the first containers of an ` + "`MPIJob`" + ` may have any names.
* Of a type with two columns only, nothing but [what each type gets](#what-each-type-gets) is checked.

`
}

// elsewhere returns why the converter never gives certain codes.
func elsewhere() map[schema.Code]string {
	return map[schema.Code]string{
		schema.Immutable: "it needs two versions of a job, and the operator judges one; the rules in the CRD keep `managedBy` and `queue` from being changed",
	}
}

func unseen(seen map[schema.Code]bool) (rows [][]string) {
	for _, c := range schema.Codes() {
		if !seen[c] {
			rows = append(rows, []string{code(string(c)), elsewhere()[c]})
		}
	}
	return rows
}

// all returns everything that the survey reported.
func (s *survey) all() (all []reported) {
	for _, section := range s.sections {
		all = append(all, section.strange...)
		for _, r := range section.rows {
			all = append(all, r.reported...)
		}
	}
	return all
}

// legend is what nearly every field of a form reports; their rows do not repeat it.
type legend struct {
	forms    []string // in alphabetical order
	reported map[string][]reported
	strange  []reported
}

// few: what at most so few fields have in common is written in their rows.
const few = 2

func (s *survey) usual() legend {
	rows := map[string][]row{}
	for _, section := range s.sections {
		for _, r := range section.rows {
			if slices.ContainsFunc(r.reported, reported.rejects) {
				rows[r.form.String()] = append(rows[r.form.String()], r)
			}
		}
	}
	l := legend{reported: map[string][]reported{}, strange: s.sections[0].strange}
	for form, rows := range rows {
		if len(rows) <= few {
			continue
		}
		l.forms = append(l.forms, form)
		for _, t := range rows[0].reported {
			share := 0
			for _, r := range rows {
				if slices.ContainsFunc(r.reported, t.same) {
					share++
				}
			}
			if share*10 > len(rows)*9 {
				l.reported[form] = append(l.reported[form], t)
			}
		}
	}
	slices.Sort(l.forms)
	return l
}

func (l legend) rows() (rows [][]string) {
	for _, form := range l.forms {
		rows = append(rows, []string{form, sentences(l.reported[form])})
	}
	return append(rows, []string{"any object, if it has a field that its type has not", sentences(l.strange)})
}

func contents(sections []*section) string {
	const inLine = 4
	var lines []string
	for some := range slices.Chunk(sections, inLine) {
		links := make([]string, len(some))
		for i, section := range some {
			links[i] = section.anchor()
		}
		lines = append(lines, strings.Join(links, " · "))
	}
	return strings.Join(lines, " ·\n")
}

func (s *section) anchor() string {
	return "[" + s.name + "](#" + strings.ReplaceAll(strings.ToLower(s.name), " ", "-") + ")"
}

func (s *section) text(usual legend) string {
	heading := []string{"field", "type"}
	if s.special(usual) {
		heading = append(heading, "a wrong value gets, beside what its type does")
	}
	var rows [][]string
	for _, r := range s.rows {
		rows = append(rows, []string{code(r.name), r.kind(), r.special(usual)}[:len(heading)])
	}
	text := "### " + s.name + "\n\n" + s.where()
	if len(s.strange) == 0 {
		text += " Fields that it has not are not looked at."
	}
	return text + "\n\n" + table(heading, rows)
}

// special reports whether more than the types of the fields is checked.
func (s *section) special(usual legend) bool {
	return slices.ContainsFunc(s.rows, func(r row) bool { return r.special(usual) != "" })
}

// where names the places in which the type occurs, if they are few.
func (s *section) where() string {
	const most = 3
	var places []string
	for _, p := range s.places {
		if p == "" {
			return "The job itself."
		}
		if p = code(generic(p)); !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	text := strings.Join(places[:min(len(places), most)], ", ")
	if more := len(places) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// kind returns the form of a field, with a link to the section of its elements.
func (r row) kind() string {
	if r.link == nil {
		return r.form.String()
	}
	switch r.form.word {
	case wordList, wordMap:
		return r.form.word + " of " + r.link.anchor()
	}
	return r.link.anchor()
}

// special returns what is reported for this field, but not for all fields of its form.
func (r row) special(usual legend) string {
	own := slices.DeleteFunc(slices.Clone(r.reported), func(t reported) bool {
		return slices.ContainsFunc(usual.reported[r.form.String()], t.same)
	})
	if r.note == "" {
		for _, t := range usual.reported[r.form.String()] {
			if !slices.ContainsFunc(r.reported, t.same) {
				own = append(own, reported{where: "never", code: t.code, text: t.text})
			}
		}
		return sentences(own)
	}
	if len(own) > 0 {
		return r.note + "; " + sentences(own)
	}
	return r.note
}

// sentences returns lines of the form: where: `Code` must be so: some values.
func sentences(all []reported) string {
	const most = 3
	lines := make([]string, len(all))
	for i, t := range all {
		if t.where != "" {
			lines[i] = t.where + ": "
		}
		lines[i] += strings.TrimSpace(t.code + " " + t.text)
		if n := len(t.values); n > most {
			lines[i] += ": " + strings.Join(t.values[:most], ", ") + ", ..."
		} else if n > 0 {
			lines[i] += ": " + strings.Join(t.values, ", ")
		}
	}
	return strings.Join(lines, "<br>")
}

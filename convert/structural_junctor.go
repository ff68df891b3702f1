package convert

import (
	"fmt"
	"slices"
	"strings"

	"stoic/schema"
)

// clauses inspects a value against allOf, anyOf, oneOf and not. An API server only reports that a clause is not met; these problems
// also name the fields that the clauses are about.
func (in *inspection) clauses(n *schemaNode, value any) {
	for _, clause := range n.allOf {
		in.inspect(clause, value)
	}
	if tried, met := in.try(n.anyOf, value, true); len(n.anyOf) > 0 && len(met) == 0 {
		in.noneMet(n.anyOf, tried, value, "have at least one of ")
	}
	switch tried, met := in.try(n.oneOf, value, false); {
	case len(n.oneOf) == 0 || len(met) == 1:
	case len(met) == 0:
		in.noneMet(n.oneOf, tried, value, "have one of ")
	default:
		in.severalMet(n.oneOf, met, value)
	}
	if n.not == nil {
		return
	}
	if _, met := in.try([]*schemaNode{n.not}, value, true); len(met) > 0 {
		in.excluded(n.not, value)
	}
}

// try returns the problems of a value with each clause, and the indices of the clauses that it meets. With one set, the first such
// clause ends the search.
func (in *inspection) try(clauses []*schemaNode, value any, one bool) (tried []*inspection, met []int) {
	full := in.problems.beyond(in.at)
	for i, clause := range clauses {
		aside := in.aside(full)
		aside.inspect(clause, value)
		tried = append(tried, aside)
		if aside.problems.count > 0 {
			continue
		}
		if met = append(met, i); one {
			break
		}
	}
	return tried, met
}

// requires returns the fields that a clause requires, if it requires nothing else.
func (n *schemaNode) requires() []string {
	for _, some := range [][]*schemaNode{n.allOf, n.anyOf, n.oneOf} {
		if len(some) > 0 {
			return nil
		}
	}
	if n.kind != "" || n.intOrString || n.not != nil || n.items != nil || n.additional != nil || len(n.properties) > 0 ||
		len(n.enum) > 0 || n.format != "" || n.pattern != nil || n.least.at != nil || n.most.at != nil || n.multipleOf != nil ||
		n.lengths != (span64{}) || n.sizes != (span64{}) || n.counts != (span64{}) || n.unique {
		return nil
	}
	return n.required
}

// fieldsOf names the fields that clauses require, each clause as one word. ok is false if they require anything else.
func fieldsOf(clauses []*schemaNode) (words []string, ok bool) {
	for _, clause := range clauses {
		fields := clause.requires()
		if len(fields) == 0 {
			return nil, false
		}
		words = append(words, together(fields))
	}
	return words, true
}

// together names fields that are required together: `a` with `b`.
func together(fields []string) string {
	quoted := make([]string, len(fields))
	for i, field := range fields {
		quoted[i] = "`" + schema.Clean(field, MaxKey) + "`"
	}
	return schema.Cut(strings.Join(quoted, " with "), wordsLimit)
}

// noneMet reports a value that meets no clause.
func (in *inspection) noneMet(clauses []*schemaNode, tried []*inspection, value any, have string) {
	if in.Full() {
		return
	}
	words, ok := fieldsOf(clauses)
	if _, isObject := value.(map[string]any); ok && isObject {
		in.Problem(schema.MissingField, "", have+schema.Cut(strings.Join(words, ", "), wordsLimit), "")
		return
	}
	here := in.at.String()
	var wants, sentences []string
	var shared schema.Problem
	same := true
	for i, aside := range tried {
		p := aside.problems.list()[0]
		if i == 0 {
			shared = p
		}
		same = same && p.Path == shared.Path && p.Found == shared.Found && p.Want != ""
		if !slices.Contains(wants, p.Want) {
			wants = append(wants, p.Want)
		}
		p.Path = strings.TrimPrefix(strings.TrimPrefix(p.Path, here), ".")
		sentence := p.String()
		if len(tried) > 1 && !slices.Contains(sentences, sentence) {
			sentences = append(sentences, schema.Cut(sentence, 150))
		}
	}
	if same {
		in.problems.keep(schema.Problem{Code: shared.Code, Path: shared.Path, Found: shared.Found,
			Want: schema.Cut(strings.Join(wants, ", or "), wordsLimit)})
		return
	}
	in.Problem(schema.InvalidValue, in.found(value), "meet one of "+plural(int64(len(tried)), "alternative"), listed(sentences))
}

// listed numbers the reasons why no alternative is met, as far as there is room.
func listed(sentences []string) string {
	var b strings.Builder
	for i, sentence := range sentences {
		part := fmt.Sprintf("(%d) %s", i+1, sentence)
		if i > 0 {
			part = " " + part
		}
		if b.Len()+len(part) > wordsLimit {
			b.WriteString(" ...")
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// severalMet reports a value that meets more than one clause of oneOf.
func (in *inspection) severalMet(clauses []*schemaNode, met []int, value any) {
	var chosen []*schemaNode
	var numbers []string
	for _, i := range met {
		chosen = append(chosen, clauses[i])
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	if words, ok := fieldsOf(chosen); ok {
		in.Enter(chosen[1].required[0])
		in.Problem(schema.Conflict, words[1]+" beside "+words[0], "be the only one of the two", "remove one")
		in.Leave()
		return
	}
	in.Problem(schema.Conflict, in.found(value)+" that meets alternatives "+schema.Cut(strings.Join(numbers, " and "), MaxKey),
		fmt.Sprintf("meet exactly one of %d", len(clauses)), "")
}

// excluded reports a value that matches the clause of not.
func (in *inspection) excluded(clause *schemaNode, value any) {
	if fields := clause.requires(); len(fields) > 0 {
		if _, ok := value.(map[string]any); ok {
			in.excludedFields(fields)
			return
		}
	}
	only := *clause
	only.anyOf, only.enum, only.pattern = nil, nil, nil
	bare := only.blank()
	switch {
	case bare && len(clause.anyOf) > 0 && len(clause.enum) == 0 && clause.pattern == nil:
		_, met := in.try(clause.anyOf, value, true)
		if len(met) == 1 {
			in.excluded(clause.anyOf[met[0]], value)
		}
	case bare && len(clause.enum) > 0 && len(clause.anyOf) == 0 && clause.pattern == nil:
		in.Problem(schema.InvalidValue, in.shown(clause, value), "not "+clause.wantEnum(), "")
	case bare && clause.pattern != nil && len(clause.anyOf) == 0 && len(clause.enum) == 0:
		in.Problem(schema.InvalidValue, in.shown(clause, value), "not match the pattern "+schema.Clean(clause.pattern.String(), 200), "")
	default:
		in.Problem(schema.InvalidValue, in.shown(clause, value), "not be what the schema excludes", "")
	}
}

// blank reports whether a clause has no constraint.
func (n *schemaNode) blank() bool {
	marked := *n
	marked.required = []string{"x"}
	return len(n.required) == 0 && len(marked.requires()) > 0
}

// excludedFields reports fields that must not be set, or not all of them.
func (in *inspection) excludedFields(fields []string) {
	in.Enter(fields[len(fields)-1])
	defer in.Leave()
	switch len(fields) {
	case 1:
		in.Problem(schema.Conflict, "", "be left out", "")
	case 2:
		in.Problem(schema.Conflict, together(fields[1:])+" beside "+together(fields[:1]), "be the only one of the two", "remove one")
	default:
		in.Problem(schema.Conflict, together(fields), "not all be there", "remove one")
	}
}

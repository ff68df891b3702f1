package versions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Converter checks the tables and makes a converter from them. The error lists all problems.
func (k Kind) Converter() (*Converter, error) {
	c := &Converter{kind: k, steps: map[[2]string]*step{}}
	var wrong []error
	if k.Group == "" || k.Name == "" || k.Hub == "" {
		wrong = append(wrong, errors.New("a kind has a group, a name and a hub"))
	}
	if reasons := validation.IsQualifiedName(k.Annotation); len(reasons) > 0 {
		wrong = append(wrong, fmt.Errorf("the annotation %q: %s", k.Annotation, strings.Join(reasons, ", ")))
	}
	for i, v := range k.Versions {
		if v.Name == "" || v.Name == k.Hub || slices.ContainsFunc(k.Versions[:i], func(o Version) bool { return o.Name == v.Name }) {
			wrong = append(wrong, fmt.Errorf("version %q: has no name, or that of another one", v.Name))
		}
		if err := v.check(); err != nil {
			wrong = append(wrong, fmt.Errorf("version %s: %w", v.Name, err))
			continue
		}
		there := v.step(k.Hub)
		c.steps[[2]string{v.Name, k.Hub}], c.steps[[2]string{k.Hub, v.Name}] = there, there.reverse()
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("the versions of %s: %w", k.Name, err)
	}
	return c, nil
}

// step returns the step from the version to the hub.
func (v Version) step(hub string) *step {
	s := &step{from: v.Name, to: hub}
	var all []place
	for _, m := range v.Moves {
		f := move{from: placeOf(m.Here), to: placeOf(m.Hub), absent: m.Default, absentTo: m.HubDefault}
		f.both = shared(f.from.parent(), f.to.parent())
		f.within = f.both
		if m.HubInstead != "" {
			f.insteadTo = placeOf(m.HubInstead)
			f.within = shared(f.both, f.insteadTo.parent())
		}
		s.fields = append(s.fields, f)
		if all = append(all, f.from, f.to); m.Here != m.Hub {
			s.apart = append(s.apart, f.from, f.to)
		}
	}
	for _, p := range slices.Concat(v.Only, v.HubOnly) {
		s.apart = append(s.apart, placeOf(p))
	}
	s.apart = outermost(s.apart)
	for _, p := range append(all, s.apart...) {
		for i := 1; i < len(p); i++ {
			s.containers = append(s.containers, p[:i])
		}
	}
	slices.SortFunc(s.containers, func(p, q place) int { return cmp.Or(cmp.Compare(len(p), len(q)), slices.Compare(p, q)) })
	s.containers = slices.CompactFunc(s.containers, slices.Equal)
	return s
}

// outermost returns the places that are not within another one.
func outermost(all []place) (roots []place) {
	slices.SortFunc(all, slices.Compare)
	for _, p := range all {
		if len(roots) == 0 || !p.within(roots[len(roots)-1]) {
			roots = append(roots, p)
		}
	}
	return roots
}

// reverse returns the step in the other direction.
func (s *step) reverse() *step {
	r := &step{from: s.to, to: s.from, apart: s.apart, containers: s.containers}
	for _, f := range s.fields {
		r.fields = append(r.fields, move{from: f.to, to: f.from, within: f.within, both: f.both, absent: f.absentTo, absentTo: f.absent, insteadFrom: f.insteadTo, insteadTo: f.insteadFrom})
	}
	return r
}

// check returns the problems of a table: see Version and Move.
func (v Version) check() error {
	var wrong []error
	for _, text := range v.places() {
		if p := placeOf(text); slices.Contains(p, "") || slices.Contains([]string{"apiVersion", "kind", "metadata"}, p[0]) {
			wrong = append(wrong, fmt.Errorf("%q is no place that can differ", text))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	s := v.step("")
	for i, m := range v.Moves {
		if err := m.check(v.HubOnly); err != nil {
			wrong = append(wrong, fmt.Errorf("the move from %s to %s: %w", m.Here, m.Hub, err))
		}
		f := s.fields[i]
		for j, o := range s.fields {
			if i != j && (f.from.within(o.from) || f.to.within(o.to)) {
				wrong = append(wrong, fmt.Errorf("%s and %s, or where they go, are the same place or in each other", m.Here, v.Moves[j].Here))
			}
			if m.HubInstead != "" && (f.insteadTo.within(o.to) || o.to.within(f.insteadTo)) {
				wrong = append(wrong, fmt.Errorf("%s, which counts instead, and %s, which %s moves to, are the same place or in each other", m.HubInstead, o.to, o.from))
			}
		}
		for _, p := range append(lead(f.from, f.both), lead(f.to, f.both)...) {
			if !slices.ContainsFunc(s.apart, p.within) {
				wrong = append(wrong, fmt.Errorf("%s stands between %s and %s and is in both versions: nothing would say whether it was there", p, m.Here, m.Hub))
			}
		}
		for _, p := range s.apart {
			if m.Here == m.Hub && f.from.within(p) {
				wrong = append(wrong, fmt.Errorf("%s is in both versions, but %s is not", m.Here, p))
			}
			if m.HubInstead != "" && !slices.ContainsFunc(s.apart, f.insteadTo.equals) {
				wrong = append(wrong, fmt.Errorf("%s, which counts instead, is in %s", m.HubInstead, p))
			}
		}
	}
	for _, text := range v.Only {
		wrong = append(wrong, v.checkOnly(text, func(m Move) string { return m.Here })...)
	}
	for _, text := range v.HubOnly {
		wrong = append(wrong, v.checkOnly(text, func(m Move) string { return m.Hub })...)
	}
	return errors.Join(wrong...)
}

// checkOnly checks that a place of only one version is not part of a place that both have.
func (v Version) checkOnly(text string, side func(Move) string) (wrong []error) {
	for _, m := range v.Moves {
		if placeOf(text).within(placeOf(side(m))) {
			wrong = append(wrong, fmt.Errorf("%s is in %s, which both versions have", text, side(m)))
		}
	}
	return wrong
}

func (m Move) check(hubOnly []string) error {
	plain := func(value any) bool {
		switch value.(type) {
		case string, bool, int64, float64:
			return !void(value)
		}
		return false
	}
	defaults := m.Default != nil || m.HubDefault != nil
	switch {
	case defaults && (!plain(m.Default) || !plain(m.HubDefault) || same(m.Default, m.HubDefault)):
		return fmt.Errorf("the defaults are %v and %v, must be two different strings, numbers or booleans", m.Default, m.HubDefault)
	case defaults && m.HubInstead != "":
		return errors.New("it has defaults and a place that counts instead, must have one of them")
	case m.HubInstead != "" && !slices.Contains(hubOnly, m.HubInstead):
		return fmt.Errorf("%s, which counts instead, is not a place that the hub alone has", m.HubInstead)
	case m.Here == m.Hub && !defaults && m.HubInstead == "":
		return errors.New("it says nothing")
	}
	return nil
}

// places returns all places that the table names.
func (v Version) places() []string {
	all := slices.Concat(v.Only, v.HubOnly)
	for _, m := range v.Moves {
		if all = append(all, m.Here, m.Hub); m.HubInstead != "" {
			all = append(all, m.HubInstead)
		}
	}
	return all
}

// lead returns the objects on the way to a place from one above it.
func lead(p, above place) (all []place) {
	for i := len(above) + 1; i < len(p); i++ {
		all = append(all, p[:i])
	}
	return all
}

func (p place) equals(q place) bool { return slices.Equal(p, q) }

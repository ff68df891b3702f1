package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
	"stoic/training"
)

// topic is where a path leads: a field of a kind.
type topic struct {
	manual   *manual
	path     string // without the keys of maps and the indices of lists, as training.Default has it
	shown    string // with those that were given
	field    *field
	required bool
	element  bool                       // an item of a list or a value of a map: statements about the whole do not apply to it
	rtype    *training.KnownReplicaType // on the way here
	kinds    string                     // that have it, if the path named none
}

// byVersion groups the manuals by API version, in the order in which the versions first occur.
func byVersion(manuals []*manual) (versions [][]*manual) {
	for _, m := range manuals {
		at := slices.IndexFunc(versions, func(of []*manual) bool { return of[0].kind.APIVersion() == m.kind.APIVersion() })
		if at < 0 {
			at, versions = len(versions), append(versions, nil)
		}
		versions[at] = append(versions[at], m)
	}
	return versions
}

// versionFlag returns the flag that a command needs besides a path, if the version is not the first of its kind.
func versionFlag(kind *training.Kind) string {
	if kind.Version == "v1" {
		return ""
	}
	return " --" + apiVersionFlag + "=" + kind.APIVersion()
}

// lookUp follows a path in the first API version that has it.
func lookUp(manuals []*manual, path string) (at topic, err error) {
	for i, of := range byVersion(manuals) {
		found, failed := lookUpIn(of, path)
		if failed == nil {
			return found, nil
		}
		if i == 0 {
			err = failed
		}
	}
	return at, err
}

// lookUpIn follows a path that begins with a kind, or with a field that is the same in all kinds that have it.
func lookUpIn(manuals []*manual, path string) (topic, error) {
	steps := stepsOf(path)
	if plain := strings.NewReplacer(".", ""); len(steps) == 0 || steps[0] == "" || plain.Replace(strings.Join(steps, "")) != plain.Replace(path) {
		return topic{}, fmt.Errorf("found %s, must be a code, or a path such as tfjob.spec.runPolicy", schema.Quote(path))
	}
	for _, m := range manuals {
		if m.isCalled(steps[0]) {
			return m.follow(steps[1:])
		}
	}
	var found []topic
	var failed error
	var kinds, names []string
	reached := -1 // by the path that failed latest: that kind was meant
	for _, m := range manuals {
		if m.root.Properties[steps[0]] == nil {
			continue
		}
		at, err := m.follow(steps)
		if err != nil {
			if depth := len(stepsOf(at.shown)); depth > reached {
				failed, reached = err, depth
			}
			continue
		}
		found, kinds, names = append(found, at), append(kinds, m.kind.Singular), append(names, m.kind.Name)
	}
	switch {
	case len(found) > 0 && alike(found):
		found[0].kinds = strings.Join(names, ", ")
		return found[0], nil
	case len(found) > 1:
		return topic{}, fmt.Errorf("%s is a field of several kinds; begin with one of %s", path, strings.Join(kinds, ", "))
	case failed != nil:
		return topic{}, failed
	}
	return topic{}, notATopic(manuals, steps[0])
}

// alike reports whether the description of one applies to all.
func alike(all []topic) bool {
	return !slices.ContainsFunc(all[1:], func(t topic) bool {
		return t.about(false) != all[0].about(false) || t.about(true) != all[0].about(true)
	})
}

// notATopic returns the error for a first word that is neither a code nor a kind nor a field.
func notATopic(manuals []*manual, word string) error {
	var known []string
	for _, code := range schema.Codes() {
		known = append(known, string(code))
	}
	for _, m := range manuals {
		known = append(append(known, m.kind.Singular, m.kind.Plural), m.root.names()...)
	}
	slices.Sort(known)
	text := fmt.Sprintf("found %s, must be a code, or a path that begins with a kind or with a field of it", schema.Quote(word))
	if meant, ok := schema.Nearest(word, slices.Compact(known)); ok {
		return errors.New(text + "; did you mean `" + meant + "`?")
	}
	return errors.New(text + "; `stoic explain` lists them")
}

// follow descends from the object as a whole, as far as the path leads.
func (m *manual) follow(steps []string) (topic, error) {
	at := topic{manual: m, field: m.root}
	for _, step := range steps {
		next, ok := at.down(step)
		if !ok {
			return at, at.unknown(step)
		}
		at = next
	}
	return at, nil
}

// down takes one step: into a field, to a key of a map, or to an item of a list. Keys and indices may be omitted.
func (t topic) down(step string) (topic, bool) {
	if index, is := strings.CutPrefix(step, "["); is && !strings.HasPrefix(step, `["`) {
		if _, err := strconv.ParseUint(strings.TrimSuffix(index, "]"), 10, 32); t.field.Items == nil || err != nil && index != "]" {
			return topic{}, false
		}
		return t.into(t.field.Items, step), true
	}
	name := step
	if quoted, is := strings.CutPrefix(step, "["); is {
		var err error
		if name, err = strconv.Unquote(strings.TrimSuffix(quoted, "]")); err != nil {
			return topic{}, false
		}
	}
	parent := t.field.below()
	if child := parent.Properties[name]; child != nil {
		t.path = strings.TrimPrefix(t.path+"."+name, ".")
		t.shown = strings.TrimPrefix(t.shown+"."+name, ".")
		t.required = slices.Contains(parent.Required, name)
		t.field, t.element = child, false
		return t, true
	}
	values := t.field.AdditionalProperties
	if values == nil {
		return topic{}, false
	}
	if len(values.Properties) > 0 {
		rtype := t.manual.kind.ReplicaType(name)
		if rtype == nil || rtype.Name != name && !t.manual.kind.AnyCase {
			return topic{}, false
		}
		step, t.rtype = rtype.Name, rtype
	}
	if !strings.HasPrefix(step, "[") {
		step = "." + step
	}
	return t.into(values, step), true
}

// into steps to the element of a list or map. The element has the description of the list or map if it has none of its own.
func (t topic) into(held *field, step string) topic {
	described := *held
	described.Description = cmp.Or(held.Description, t.field.Description)
	t.field, t.shown, t.required, t.element = &described, t.shown+step, false, true
	return t
}

// keys returns those that a map of fields can have: the replica types.
func (t topic) keys() (names []string) {
	if values := t.field.AdditionalProperties; values != nil && len(values.Properties) > 0 {
		for _, rtype := range t.manual.kind.ReplicaTypes {
			names = append(names, rtype.Name)
		}
	}
	return names
}

// unknown returns an error that says what the step could have been.
func (t topic) unknown(step string) error {
	where := t.shown
	if where == "" {
		where = t.manual.kind.Name
	}
	text := fmt.Sprintf("there is no %s in %s", schema.Quote(step), where)
	known := append(t.keys(), t.field.below().names()...)
	if meant, ok := schema.Nearest(step, known); ok {
		return errors.New(text + "; did you mean `" + meant + "`?")
	}
	for _, name := range known {
		if child, ok := t.down(name); ok && child.field.below().Properties[step] != nil {
			return fmt.Errorf("%s; there is one in `%s`", text, child.shown)
		}
	}
	switch n := len(known); {
	case n == 0:
		return fmt.Errorf("%s, which is of type %s", text, t.field.kind())
	case n <= 10:
		return fmt.Errorf("%s; its fields are %s", text, strings.Join(known, ", "))
	}
	return fmt.Errorf("%s; `stoic explain %s` lists its fields", text, t.argument()+versionFlag(t.manual.kind))
}

// argument returns what the user types to get here.
func (t topic) argument() string { return strings.TrimSuffix(t.manual.kind.Singular+"."+t.shown, ".") }

package main

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"stoic/schema"
)

// settle fills in the fields of an object without which the whole is no valid job. It follows the converter's problems: the answer to one
// try determines the next.
func (s *survey) settle(t reflect.Type, path string, object map[string]any) error {
	const tries = 20
	for range tries {
		reported := s.ask()
		if len(reported) == 0 {
			return nil
		}
		if !slices.ContainsFunc(reported, func(p heard) bool { return repair(t, path, object, p) }) {
			break
		}
	}
	if reported := s.ask(); len(reported) > 0 {
		return fmt.Errorf("no right job has a %s at %s: %v", t.Name(), path, reported)
	}
	return nil
}

// repair tries to do what a problem requires, if it is about an object of type t at that path, or about a field in it.
func repair(t reflect.Type, path string, object map[string]any, p heard) bool {
	if p.Path == path && p.Code == schema.MissingField {
		if names := namesIn(p.Want); len(names) > 0 {
			object[names[0]] = map[string]any{}
			return true
		}
	}
	for _, f := range fieldsOf(t) {
		at := join(path, f.name)
		below, is := strings.CutPrefix(p.Path, at)
		switch {
		case !is:
		case below == "", f.form.struck() == nil && below == "[0]":
			return next(f, object, p)
		case below[0] == '.' || strings.HasPrefix(below, "[0]."):
			child, _ := object[f.name].(map[string]any)
			if items, _ := object[f.name].([]any); len(items) > 0 {
				child, _ = items[0].(map[string]any)
				at += "[0]"
			}
			return child != nil && f.form.struck() != nil && repair(f.form.struck(), at, child, p)
		}
	}
	return false
}

// next puts another value into a field: one that the problem names, or else the one after the current value.
func next(f field, object map[string]any, p heard) bool {
	if words := quoted.FindAllStringSubmatch(p.Want, -1); strings.HasPrefix(p.Want, "be one of ") {
		object[f.name] = words[0][1]
		if f.form.word == wordList {
			object[f.name] = []any{words[0][1]}
		}
		return true
	}
	all := f.form.right()
	at := slices.IndexFunc(all, func(v any) bool { return reflect.DeepEqual(v, object[f.name]) })
	if at == len(all)-1 {
		return false
	}
	object[f.name] = all[at+1]
	return true
}

var (
	quoted     = regexp.MustCompile("\"([^\"]*)\"")
	backquoted = regexp.MustCompile("`([^`:]*)`")
)

// namesIn lists the fields that a text names.
func namesIn(text string) (names []string) {
	for _, m := range backquoted.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// below surveys the object in a field, or one more item of it, and returns it.
func (s *survey) below(f field, path string, object map[string]any, above []reflect.Type) (*section, any, error) {
	before := maps.Clone(object)
	defer func(aside []string) {
		s.aside = aside
		clear(object)
		maps.Copy(object, before)
	}(s.aside)
	path = join(path, f.name)
	at, item := path, map[string]any{}
	switch f.form.word {
	case wordList:
		items, _ := before[f.name].([]any)
		object[f.name] = append(slices.Clone(items), item)
		at = fmt.Sprintf("%s[%d]", path, len(items))
	case wordMap:
		entries, _ := before[f.name].(map[string]any)
		item, _ = entries["Worker"].(map[string]any)
		at = join(path, "Worker")
	default:
		if there, is := before[f.name].(map[string]any); is {
			item = there
		}
		object[f.name] = item
	}
	for _, p := range s.ask() {
		switch {
		case p.Path == path && p.Want == "be left out": // whatever is in it
			s.aside = append(slices.Clone(s.aside), path)
		case p.Code == schema.Conflict: // with another field: only one of them may be set
			for _, name := range namesIn(p.Found) {
				if name != f.name {
					delete(object, name)
				}
			}
		}
	}
	found, err := s.visit(f.form.struck(), at, item, above)
	return found, named(f.form.struck(), item), err
}

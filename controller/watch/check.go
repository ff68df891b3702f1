package watch

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"stoic/schema"
)

// Check returns an error if a watch cannot work, so that a program ends when it starts and no object waits forever.
func (w *Watch) Check() error {
	if err := named(w.Resource); err != nil {
		return err
	}
	fail := func(format string, values ...any) error {
		return fmt.Errorf("the watch of %s: %w", w.Resource.Plural, fmt.Errorf(format, values...))
	}
	switch {
	case w.Convert == nil:
		return fail("Convert is nil, must be a function, such as convert.Typed returns")
	case w.Decide == nil:
		return fail("Decide is nil, must be a function")
	}
	var owned []schema.Resource
	for i, o := range w.Owns {
		if o == nil {
			return fail("Owns[%d] is nil", i)
		}
		if err := o.check(); err != nil {
			return fail("Owns[%d]: %w", i, err)
		}
		if slices.Contains(owned, o.Resource) {
			return fail("Owns[%d]: %s a second time; Observed.Of would not show them", i, o.Resource.Plural)
		}
		owned = append(owned, o.Resource)
	}
	for i, r := range w.Reads {
		if r == nil {
			return fail("Reads[%d] is nil", i)
		}
		if err := errors.Join(named(r.Resource), selects(r.Selector)); err != nil {
			return fail("Reads[%d]: %w", i, err)
		}
	}
	return nil
}

// CheckAll returns an error if one of several watches cannot work, or if they cannot work together.
func CheckAll(watches []Watch) error {
	var seen []schema.Resource
	for i := range watches {
		w := &watches[i]
		if err := w.Check(); err != nil {
			return err
		}
		if slices.Contains(seen, w.Resource) {
			return fmt.Errorf("the watch of %s stands there twice", w.Resource.Plural)
		}
		seen = append(seen, w.Resource)
	}
	return nil
}

func (o *Owned) check() error {
	if o.SlimTyped != nil && o.Resource != schema.Pods() && o.Resource != schema.Services() {
		return fmt.Errorf("SlimTyped is for pods and services, found %s: use Slim", o.Resource.Plural)
	}
	return errors.Join(named(o.Resource), selects(o.Selector))
}

// named returns an error if a resource lacks a part of its name. The group may be empty: that is the core group.
func named(r schema.Resource) error {
	if r.Version == "" || r.Plural == "" || r.Kind == "" {
		return fmt.Errorf("found resource %+v, must have a version, a plural and a kind", r)
	}
	return nil
}

func selects(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("selector %q: %w", selector, err)
	}
	return nil
}

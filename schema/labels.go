package schema

import (
	"cmp"
	"slices"
	"strings"
	"unique"
)

// Label is one label of an object.
type Label struct {
	name  unique.Handle[string] // one string for all objects that have such a label
	Value string
}

// Name returns the name of the label; "" for the zero value.
func (l Label) Name() string {
	if l.name == (unique.Handle[string]{}) {
		return ""
	}
	return l.name.Value()
}

// Labels are the labels of a cached object, sorted by name. They are never changed. Selectors match them as they match labels.Set.
// A map of one to eight labels takes 336 bytes; Labels take 24 bytes per label plus the value.
type Labels []Label

// LabelsOf copies a map. It returns nil for an empty one.
func LabelsOf(set map[string]string) Labels {
	if len(set) == 0 {
		return nil
	}
	all := make(Labels, 0, len(set))
	for name, value := range set {
		all = append(all, Label{unique.Make(name), value})
	}
	slices.SortFunc(all, func(a, b Label) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// Lookup returns the value of a label, and whether there is one.
func (l Labels) Lookup(name string) (value string, exists bool) {
	i, exists := slices.BinarySearchFunc(l, name, func(label Label, name string) int { return cmp.Compare(label.Name(), name) })
	if !exists {
		return "", false
	}
	return l[i].Value, true
}

// Get returns the value of a label; "" if there is none.
func (l Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Has reports whether there is a label of that name.
func (l Labels) Has(name string) bool {
	_, exists := l.Lookup(name)
	return exists
}

// Equal reports whether both hold the same labels. cmp.Diff uses it.
func (l Labels) Equal(other Labels) bool { return slices.Equal(l, other) }

// String returns the labels in the form of kubectl: app=web,tier=front.
func (l Labels) String() string {
	all := make([]string, 0, len(l))
	for _, label := range l {
		all = append(all, label.Name()+"="+label.Value)
	}
	return strings.Join(all, ",")
}

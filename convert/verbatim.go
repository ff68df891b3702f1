package convert

import (
	"bytes"
	"strings"
)

// verbatim is a path to keep as the user wrote it. Put is a function on the type T.
type verbatim[F any] struct {
	put  F
	path []string
}

// Verbatim keeps the value at a path as the user wrote it, including fields that no Go type knows: compact JSON with sorted keys,
// the same text for the same value whatever libraries this program has. The value is decoded, too. put stores the text, for example
// in a field with the tag `json:"-"`. It is called before the functions of Default, on well-formed objects, unless the path has no
// value. Unknown fields are then known to be JSON of bounded depth.
func Verbatim[T any](put func(*T, []byte), path ...string) Option {
	return optionFunc(func(o *options) { o.verbatim = append(o.verbatim, verbatim[any]{put, path}) })
}

// putVerbatim stores the text of each verbatim path.
func (c *typed[T]) putVerbatim(object *T, raw map[string]any) {
	for _, v := range c.verbatim {
		within, value := raw, any(nil)
		for _, key := range v.path {
			value = within[key]
			within, _ = value.(map[string]any)
		}
		if value != nil {
			e := LendEncoder()
			v.put(object, bytes.Clone(e.Encode(value)))
			e.GiveBack()
		}
	}
}

// keep has all of a field checked, including what no shape knows. It panics if the path leads to no field.
func (l *layout) keep(path []string) {
	missing := "convert: Verbatim of " + strings.Join(path, ".") + ", where no field of the spec is"
	if len(path) == 0 || path[0] != "spec" {
		panic(missing)
	}
	within := l.whole
	for i, name := range path {
		f := within.fields[name]
		if f == nil {
			panic(missing)
		}
		if i == len(path)-1 {
			kept := *f
			kept.kept = true
			within.fields[name] = &kept
		}
		within = f.shape
	}
}

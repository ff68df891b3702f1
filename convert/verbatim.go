package convert

import (
	"bytes"
	"strings"
)

// verbatim is what is kept as its author wrote it, and where: put is a function on the type that is converted to.
type verbatim[F any] struct {
	put  F
	path []string
}

// Verbatim keeps what stands at a path as its author wrote it, fields that no Go type knows among them: compact JSON with
// sorted keys, the same text for the same value whatever the libraries of this program know. The value is decoded besides. put
// stores the text, such as in a field with the tag `json:"-"`. It is called before the functions of Default, on objects that
// are well-formed, unless nothing stands there; what no type knows is then known to be JSON of bounded depth.
func Verbatim[T any](put func(*T, []byte), path ...string) Option {
	return optionFunc(func(o *options) { o.verbatim = append(o.verbatim, verbatim[any]{put, path}) })
}

// putVerbatim stores what is kept as it was written.
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

// keep has all of a field checked, also what no shape knows. It panics if the path leads to none.
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

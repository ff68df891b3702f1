package convert

import (
	"fmt"
	"slices"

	"stoic/schema"
)

// toldLimit is how many problems are kept, and how many warnings; the rest is counted.
const toldLimit = 100

// reader walks one object and collects what is wrong with it. A mistake ends nothing: what is wrong is told
// and left out, and the walk goes on.
type reader struct {
	kind     *schema.Kind
	at       path // where the walk is
	keys     keyring
	problems findings
	warnings findings
}

func newReader(kind *schema.Kind) *reader { return &reader{kind: kind, at: make(path, 0, 24)} }

// enter goes down to a field; leave comes back.
func (r *reader) enter(key string)    { r.at = append(r.at, step{key: key}) }
func (r *reader) enterItem(index int) { r.at = append(r.at, step{index: index, at: true}) }
func (r *reader) leave()              { r.at = r.at[:len(r.at)-1] }

// problem reports what keeps the object from being a job, at the place where the walk is.
func (r *reader) problem(code schema.Code, found, want, hint string) {
	r.problems.add(r.at, code, found, want, hint)
}

// problemIn reports a problem with a field of what is there.
func (r *reader) problemIn(field string, code schema.Code, found, want, hint string) {
	r.enter(field)
	r.problem(code, found, want, hint)
	r.leave()
}

// warning reports what does not keep the object from being a job.
func (r *reader) warning(code schema.Code, found, want, hint string) {
	r.warnings.add(r.at, code, found, want, hint)
}

// findings are problems, up to a limit, and how many there were.
type findings struct {
	told  []schema.Problem
	count int
}

func (f *findings) add(at path, code schema.Code, found, want, hint string) {
	if f.skip() {
		return
	}
	f.count++
	f.told = append(f.told, schema.Problem{Code: code, Path: at.String(), Found: found, Want: want, Hint: hint})
}

// skip says that a further finding is not kept, and counts it: its words need not be found.
func (f *findings) skip() bool {
	if len(f.told) < toldLimit {
		return false
	}
	f.count++
	return true
}

// list is all that was found, in order of path, and how many there were if not all were kept.
func (f *findings) list() []schema.Problem {
	if f.count > len(f.told) {
		f.told = append(f.told, schema.Problem{Code: schema.InvalidValue, Path: "spec",
			Found: fmt.Sprintf("%d problems", f.count), Hint: fmt.Sprintf("the first %d are listed", len(f.told))})
	}
	return schema.SortProblems(f.told)
}

// keyring lends the same array to all maps for sorting their keys. A walk in order says the same each time,
// also when there is more to tell than is kept.
type keyring struct{ keys []string }

// take returns the keys of raw in order, until they are released in the reverse order of taking.
func (k *keyring) take(raw map[string]any) []string {
	start := len(k.keys)
	for key := range raw {
		k.keys = append(k.keys, key)
	}
	taken := k.keys[start:]
	slices.Sort(taken)
	return taken
}

func (k *keyring) release(raw map[string]any) { k.keys = k.keys[:len(k.keys)-len(raw)] }

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
	opaques  int  // how many values were walked without a shape
	problems findings
	warnings findings
}

func newReader(kind *schema.Kind) *reader { return &reader{kind: kind, at: make(path, 0, 24)} }

// enter goes down to a field; leave comes back.
func (r *reader) enter(key string) { r.at = append(r.at, step{key: key, kept: r.at.kept()}) }
func (r *reader) enterItem(index int) {
	r.at = append(r.at, step{index: index, at: true, kept: r.at.kept()})
}
func (r *reader) leave() { r.at = r.at[:len(r.at)-1] }

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

// findings are problems: the first ones in order of path, up to a limit, and how many there were. Which ones are kept
// does not depend on the order in which they are found, so that members of objects can be walked as they come.
type findings struct {
	told    []schema.Problem // in order
	count   int
	dropped int // not kept
	scratch []byte
}

// skip says that what may be found at a place is not kept, and counts it: its words need not be found.
func (f *findings) skip(at path) bool {
	if len(f.told) < toldLimit {
		return false
	}
	f.scratch = at.append(f.scratch[:0])
	if schema.ComparePaths(f.scratch, f.told[toldLimit-1].Path) <= 0 {
		return false
	}
	f.count++
	f.dropped++
	return true
}

func (f *findings) add(at path, code schema.Code, found, want, hint string) {
	if !f.skip(at) {
		f.keep(schema.Problem{Code: code, Path: at.String(), Found: found, Want: want, Hint: hint})
	}
}

// take takes in what the kind found.
func (f *findings) take(problems []schema.Problem) {
	for _, p := range problems {
		f.keep(p)
	}
}

// keep takes in a problem, once, if it is among the first.
func (f *findings) keep(p schema.Problem) {
	f.count++
	at, known := slices.BinarySearchFunc(f.told, p, schema.Problem.Compare)
	switch {
	case known:
	case at == toldLimit:
		f.dropped++
	default:
		if len(f.told) == toldLimit {
			f.told = f.told[:toldLimit-1]
			f.dropped++
		}
		f.told = slices.Insert(f.told, at, p)
	}
}

// list is all that was kept, in order, and how many there were if that is not all.
func (f *findings) list() []schema.Problem {
	if f.dropped == 0 {
		return f.told
	}
	return schema.SortProblems(append(f.told, schema.Problem{Code: schema.InvalidValue, Path: "spec",
		Found: fmt.Sprintf("%d problems", len(f.told)+f.dropped), Hint: fmt.Sprintf("the first %d are listed", len(f.told))}))
}

package convert

import (
	"fmt"
	"reflect"
	"slices"

	"stoic/schema"
)

// MaxProblems is how many problems and how many warnings are kept; the rest is counted.
const MaxProblems = 100

// Reader walks one object and collects its problems. A problem does not end the walk: the value is reported and left out, and the
// walk continues. A Reader is for one object and one goroutine.
type Reader struct {
	at       path // where the walk is
	values   int  // how many values were walked
	opaques  int  // how many values were walked without a shape
	lenient  bool // malformed values are left out, and so are items and map entries of which nothing can be read
	problems findings
	warnings findings
}

// NewReader returns a reader at the root of an object.
func NewReader() *Reader { return &Reader{at: make(path, 0, 24)} }

// Enter moves to a field, or to the value of a map key; Leave moves back.
func (r *Reader) Enter(key string) {
	r.at = append(r.at, step{key: key, kept: r.at.kept(), hidden: r.at.hidden()})
}

// EnterItem moves to an item of a list.
func (r *Reader) EnterItem(index int) {
	r.at = append(r.at, step{index: index, at: true, kept: r.at.kept(), hidden: r.at.hidden()})
}

// EnterField moves to a field of an object that has a shape. Problems at and below the field can then refer to its sibling fields.
func (r *Reader) EnterField(s *Shape, within map[string]any, key string) {
	r.at = append(r.at, step{key: key, within: within, shape: s, hidden: r.at.hidden() || s.hides(key)})
}

// Leave moves back from the last Enter, EnterItem or EnterField.
func (r *Reader) Leave() { r.at = r.at[:len(r.at)-1] }

// Path returns the current path, as messages spell it.
func (r *Reader) Path() string { return r.at.String() }

// Problem reports a problem at the current path that keeps the object from being served.
func (r *Reader) Problem(code schema.Code, found, want, hint string) {
	r.problems.add(r.at, code, found, want, hint)
}

// ProblemIn reports a problem with a field of the current object.
func (r *Reader) ProblemIn(field string, code schema.Code, found, want, hint string) {
	r.Enter(field)
	r.Problem(code, found, want, hint)
	r.Leave()
}

// Warning reports a problem at the current path that does not keep the object from being served.
func (r *Reader) Warning(code schema.Code, found, want, hint string) {
	r.warnings.add(r.at, code, found, want, hint)
}

// Take adds problems and warnings that were found without the reader, with whole paths.
func (r *Reader) Take(problems, warnings []schema.Problem) {
	r.problems.take(problems)
	r.warnings.take(warnings)
}

// readLeniently decodes the well-formed values and leaves out the rest, without problems or warnings. It returns whether a value
// was left out, or a required one is missing. Fields that the type does not have do not count.
func (r *Reader) readLeniently(s *Shape, raw any, target reflect.Value) (leftOut bool) {
	was := *r
	defer func() {
		*r = was
		if recover() != nil { // a type's own decoder
			target.SetZero()
			leftOut = true
		}
	}()
	r.problems, r.warnings, r.lenient = findings{silent: true}, findings{silent: true}, true
	r.Walk(s, raw, target)
	return r.problems.count > 0
}

// Count returns how many problems have been found so far. Equal counts before and after a step mean that the step found none.
func (r *Reader) Count() int { return r.problems.count }

// Full reports that a problem at the current path would not be kept, and counts it. The caller then need not build its message.
func (r *Reader) Full() bool { return r.problems.skip(r.at) }

// WarningsFull is Full for warnings.
func (r *Reader) WarningsFull() bool { return r.warnings.skip(r.at) }

// Problems returns the first MaxProblems, in order of path, and how many there are if there are more; nil if there are none.
func (r *Reader) Problems() []schema.Problem {
	if r.opaques > valueLimit { // reported alone: what was seen before the limit depends on the order of keys
		return []schema.Problem{{Code: schema.TooLarge, Path: "spec", Found: "too many values in fields that no library knows", Want: "have fewer"}}
	}
	if r.values > valueLimit {
		return []schema.Problem{{Code: schema.TooLarge, Path: "spec", Found: "too many values", Want: "have fewer"}}
	}
	return r.problems.list()
}

// Warnings returns the warnings in the same way.
func (r *Reader) Warnings() []schema.Problem { return r.warnings.list() }

// Broken returns the problem to report if the conversion itself fails. That is a defect of the operator, reported to the user who
// wrote the object because no one else is looking.
func Broken(cause any) schema.Problem {
	return schema.Problem{Code: schema.InvalidValue, Path: "spec", Found: "an object on which the operator fails with " + schema.Quote(fmt.Sprint(cause)),
		Hint: "this is a bug in the operator, not in the object; please report it"}
}

// findings holds the first problems in order of path, up to a limit, and counts all. Which ones are kept does not depend on the
// order in which they are found, so members of objects can be walked in any order.
type findings struct {
	reported []schema.Problem // in order
	count    int
	dropped  int  // not kept
	silent   bool // only counted
	scratch  []byte
}

// skip reports whether a problem at a path would not be kept, and counts it then. The caller need not build its message.
func (f *findings) skip(at path) bool {
	if !f.beyond(at) {
		return false
	}
	f.count++
	if !f.silent {
		f.dropped++
	}
	return true
}

// beyond reports whether problems at a path, or below it, are not kept.
func (f *findings) beyond(at path) bool {
	if f.silent || len(f.reported) < MaxProblems {
		return f.silent
	}
	f.scratch = at.append(f.scratch[:0])
	return schema.ComparePaths(f.scratch, f.reported[MaxProblems-1].Path) > 0
}

func (f *findings) add(at path, code schema.Code, found, want, hint string) {
	if !f.skip(at) {
		f.keep(schema.Problem{Code: code, Path: at.String(), Found: found, Want: want, Hint: hint})
	}
}

// take adds problems that were found elsewhere.
func (f *findings) take(problems []schema.Problem) {
	for _, p := range problems {
		f.keep(p)
	}
}

// keep adds a problem, once, if it is among the first.
func (f *findings) keep(p schema.Problem) {
	f.count++
	at, known := slices.BinarySearchFunc(f.reported, p, schema.Problem.Compare)
	switch {
	case known:
	case at == MaxProblems:
		f.dropped++
	default:
		if len(f.reported) == MaxProblems {
			f.reported = f.reported[:MaxProblems-1]
			f.dropped++
		}
		f.reported = slices.Insert(f.reported, at, p)
	}
}

// list returns all that was kept, in order, and how many there were if not all were kept.
func (f *findings) list() []schema.Problem {
	if f.dropped == 0 {
		return f.reported
	}
	return schema.SortProblems(append(f.reported, schema.Problem{Code: schema.InvalidValue, Path: "spec",
		Found: fmt.Sprintf("%d problems", len(f.reported)+f.dropped), Hint: fmt.Sprintf("the first %d are listed", len(f.reported))}))
}

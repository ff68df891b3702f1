package convert

import (
	"fmt"
	"reflect"
	"slices"

	"stoic/schema"
)

// MaxProblems is how many problems are kept, and how many warnings; the rest is counted.
const MaxProblems = 100

// Reader walks one object and collects what is wrong with it. A mistake ends nothing: what is wrong is reported
// and left out, and the walk continues. It is for one object and one goroutine.
type Reader struct {
	at       path // where the walk is
	values   int  // how many values were walked
	opaques  int  // how many values were walked without a shape
	lenient  bool // what is not well-formed is left out, with what it is in if that is an item of a list or map
	problems findings
	warnings findings
}

// NewReader returns a reader that stands at the root of an object and has found nothing.
func NewReader() *Reader { return &Reader{at: make(path, 0, 24)} }

// Enter goes down to a field or to what a map holds under a key; Leave comes back.
func (r *Reader) Enter(key string) {
	r.at = append(r.at, step{key: key, kept: r.at.kept(), hidden: r.at.hidden()})
}

// EnterItem goes down to an item of a list.
func (r *Reader) EnterItem(index int) {
	r.at = append(r.at, step{index: index, at: true, kept: r.at.kept(), hidden: r.at.hidden()})
}

// EnterField goes down to a field of an object that has a shape. Problems at and below the field can then name the
// fields beside it.
func (r *Reader) EnterField(s *Shape, within map[string]any, key string) {
	r.at = append(r.at, step{key: key, within: within, shape: s, hidden: r.at.hidden() || s.hides(key)})
}

// Leave comes back from where the last Enter, EnterItem or EnterField went.
func (r *Reader) Leave() { r.at = r.at[:len(r.at)-1] }

// Path is the place where the walk is, as messages spell it.
func (r *Reader) Path() string { return r.at.String() }

// Problem reports what keeps the object from being served, at the place where the walk is.
func (r *Reader) Problem(code schema.Code, found, want, hint string) {
	r.problems.add(r.at, code, found, want, hint)
}

// ProblemIn reports a problem with a field of what is there.
func (r *Reader) ProblemIn(field string, code schema.Code, found, want, hint string) {
	r.Enter(field)
	r.Problem(code, found, want, hint)
	r.Leave()
}

// Warning reports what does not keep the object from being served.
func (r *Reader) Warning(code schema.Code, found, want, hint string) {
	r.warnings.add(r.at, code, found, want, hint)
}

// Take takes in problems and warnings that were found without the reader, with whole paths.
func (r *Reader) Take(problems, warnings []schema.Problem) {
	r.problems.take(problems)
	r.warnings.take(warnings)
}

// readLeniently decodes what is well-formed and leaves out the rest, without a problem or a warning. It returns whether a value was
// left out, or a required one is missing; a field that the type does not have is none.
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

// Count is how many problems have been found so far; nothing was found in between if it is the same before and after.
func (r *Reader) Count() int { return r.problems.count }

// Full says that a problem here would not be kept, and counts it: its words need not be found.
func (r *Reader) Full() bool { return r.problems.skip(r.at) }

// WarningsFull says the same of a warning.
func (r *Reader) WarningsFull() bool { return r.warnings.skip(r.at) }

// Problems are the first MaxProblems, in order of path, and the number of all if there are more; nil if there are none.
func (r *Reader) Problems() []schema.Problem {
	if r.opaques > valueLimit { // reported alone: what was seen before the limit depends on the order of keys
		return []schema.Problem{{Code: schema.TooLarge, Path: "spec", Found: "too many values in fields that no library knows", Want: "have fewer"}}
	}
	if r.values > valueLimit {
		return []schema.Problem{{Code: schema.TooLarge, Path: "spec", Found: "too many values", Want: "have fewer"}}
	}
	return r.problems.list()
}

// Warnings are like Problems.
func (r *Reader) Warnings() []schema.Problem { return r.warnings.list() }

// Broken is the problem to report where the conversion itself fails: a defect of the operator, told to the object's
// author because no one else is looking.
func Broken(cause any) schema.Problem {
	return schema.Problem{Code: schema.InvalidValue, Path: "spec", Found: "an object on which the operator fails with " + schema.Quote(fmt.Sprint(cause)),
		Hint: "this is a bug in the operator, not in the object; please report it"}
}

// findings are problems: the first ones in order of path, up to a limit, and how many there were. Which ones are kept
// does not depend on the order in which they are found, so that members of objects can be walked as they come.
type findings struct {
	reported []schema.Problem // in order
	count    int
	dropped  int  // not kept
	silent   bool // only counted
	scratch  []byte
}

// skip says that what may be found at a place is not kept, and counts it: its words need not be found.
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

// beyond says that what may be found at a place, or below it, is not kept.
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

// take takes in what was found elsewhere.
func (f *findings) take(problems []schema.Problem) {
	for _, p := range problems {
		f.keep(p)
	}
}

// keep takes in a problem, once, if it is among the first.
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

// list is all that was kept, in order, and how many there were if that is not all.
func (f *findings) list() []schema.Problem {
	if f.dropped == 0 {
		return f.reported
	}
	return schema.SortProblems(append(f.reported, schema.Problem{Code: schema.InvalidValue, Path: "spec",
		Found: fmt.Sprintf("%d problems", len(f.reported)+f.dropped), Hint: fmt.Sprintf("the first %d are listed", len(f.reported))}))
}

package schedule

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stoic/schema"
)

// Runs are the runs of a schedule after a time.
type Runs struct {
	// Next is the first run after From, in the past or to come; zero if there is none. Runs up to From are done or too late.
	From, Next time.Time
	// Due is the latest run that is due now and not too late; zero if there is none. Many: it is the latest of more than a hundred.
	Due  time.Time
	Many bool
	// Late is the first run that is too late; zero if there is none.
	Late time.Time

	after, now time.Time
}

const (
	many = 100
	// longest is the longest deadline, in seconds. A longer one has the same effect, but does not fit into a time.Duration.
	longest = 9_000_000_000
)

// Runs returns the runs after a time, as of now. A run is too late once it is deadline seconds old; nil: it never is.
func (s *Schedule) Runs(after, now time.Time, deadline *int64) Runs {
	r := Runs{From: after, after: after, now: now}
	if deadline != nil {
		if from := now.Add(-time.Duration(max(min(*deadline, longest), 0)) * time.Second); from.After(after) {
			r.From = from
			if late := s.Next(after); !late.After(from) {
				r.Late = late
			}
		}
	}
	if r.Next = s.Next(r.From); r.Next.IsZero() || r.Next.After(now) {
		return r
	}
	r.Due = s.Latest(r.From, now)
	r.Many = s.Count(r.From, now, many+1) > many
	return r
}

// Missed returns the events about runs that were missed: those that are too late, and so many that only the latest of them is started.
// The events are the same until another run is done.
func (r Runs) Missed() (events []schema.Event) {
	tell := func(reason, message string) {
		events = append(events, schema.Event{Type: "Warning", Reason: reason, Message: message, Occasion: Text(r.after), Key: reason, Since: r.now})
	}
	if !r.Late.IsZero() {
		tell("MissSchedule", "the run of "+Text(r.Late)+" was not started within spec.startingDeadlineSeconds")
	}
	if r.Many {
		tell("TooManyMissedTimes", "more than "+strconv.Itoa(many)+" runs were missed; the latest is started, that of "+Text(r.Due))
	}
	return events
}

// Text returns a time as messages show it.
func Text(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Name returns the name of the run of an owner at a time: the owner's name and the minutes since 1970.
func Name(owner string, at time.Time) string {
	return owner + "-" + strconv.FormatInt(at.Unix()/60, 10)
}

// TimeOf returns the time in the name of a run of an owner; zero if it is not such a name.
func TimeOf(owner, name string) time.Time {
	text, ours := strings.CutPrefix(name, owner+"-")
	minute, err := strconv.ParseInt(text, 10, 64)
	if at := time.Unix(minute*60, 0); ours && err == nil && minute > 0 && at.Year() < 10000 && Name(owner, at) == name {
		return at
	}
	return time.Time{}
}

// Timed is a child that has a time in its name.
type Timed struct {
	schema.Child
	At time.Time
}

// Children returns the children of an owner that have a time in their names, sorted by time.
func Children(owner string, all []schema.Child) (timed []Timed) {
	for _, c := range all {
		if at := TimeOf(owner, c.Name); !at.IsZero() {
			timed = append(timed, Timed{c, at})
		}
	}
	slices.SortFunc(timed, func(a, b Timed) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return timed
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

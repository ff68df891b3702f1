package schedule

import (
	"sort"
	"time"
)

const (
	// star is set in a field that restricts nothing.
	star = 1 << 63
	// horizon is how many years are searched: the 29th of February is at most eight years away.
	horizon = 9
)

// Next returns the first minute after a time at which the schedule is due; zero if there is none within nine years, or before the year
// 10000, which no timestamp can hold. A nil schedule is never due.
//
// It is due in each minute whose local time matches. When clocks change, a schedule that names hours is due once for each of them. A time
// that is left out when the clocks go forward is due in the minute of the change. A time that occurs twice when they go back is due the
// first time. A schedule of every hour follows the hours as they pass.
func (s *Schedule) Next(after time.Time) time.Time {
	if s == nil {
		return time.Time{}
	}
	t := after.UTC().Truncate(time.Minute).Add(time.Minute)
	for end := t.AddDate(horizon, 0, 0); t.Before(end) && t.Year() < 10000; {
		local := t.In(s.zone)
		from, until := local.ZoneBounds() // between them the local time passes as time does
		change := time.Duration(0)        // by how much the clocks went forward a moment ago
		if s.hour&star == 0 && t.Sub(from) < 25*time.Hour {
			_, offset := local.Zone()
			_, before := from.Add(-1).In(s.zone).Zone()
			change = time.Duration(offset-before) * time.Second
		}
		wait := s.wait(local)
		switch again := from.Add(-change).Sub(t); { // for how long the local time repeats
		case change < 0 && again > 0:
			wait = again
		case wait == 0 || change > 0 && from.Equal(t) && s.omits(wall(local), change):
			return t
		}
		if until.After(t) && until.Before(t.Add(wait)) { // on some last days of a year ZoneBounds returns an end before t
			wait = until.Sub(t)
		}
		t = t.Add(wait)
		if whole := t.Truncate(time.Minute); !whole.Equal(t) { // historical offsets have seconds
			t = whole.Add(time.Minute)
		}
	}
	return time.Time{}
}

// Is reports whether the schedule is due at a time.
func (s *Schedule) Is(at time.Time) bool { return s.Next(at.Add(-1)).Equal(at) }

// wall returns what a clock on the wall shows, as if it were in UTC.
func wall(local time.Time) time.Time {
	year, month, day := local.Date()
	return time.Date(year, month, day, local.Hour(), local.Minute(), 0, 0, time.UTC)
}

// omits reports whether the schedule matches a time that clocks left out when they went forward to a time.
func (s *Schedule) omits(to time.Time, change time.Duration) bool {
	for t := to.Add(-change); t.Before(to); {
		wait := s.wait(t)
		if wait == 0 {
			return true
		}
		t = t.Add(wait)
	}
	return false
}

// wait returns how long it takes at least, as clocks go, until a local time may match; zero if it matches.
func (s *Schedule) wait(local time.Time) time.Duration {
	year, month, day := local.Date()
	midnight := 24*time.Hour - time.Duration(60*local.Hour()+local.Minute())*time.Minute
	switch {
	case !has(s.month, int(month)):
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		return midnight + time.Duration(last-day)*24*time.Hour
	case !s.isOn(day, local.Weekday()):
		return midnight
	case !has(s.hour, local.Hour()):
		return time.Duration(60-local.Minute()) * time.Minute
	case !has(s.minute, local.Minute()):
		return time.Minute
	}
	return 0
}

// isOn reports whether a day matches: both fields must match; if both are restricted one is enough.
func (s *Schedule) isOn(day int, weekday time.Weekday) bool {
	ofMonth, ofWeek := has(s.dayOfMonth, day), has(s.dayOfWeek, int(weekday))
	if (s.dayOfMonth|s.dayOfWeek)&star == 0 {
		return ofMonth || ofWeek
	}
	return ofMonth && ofWeek
}

func has(field uint64, value int) bool { return field&(1<<value) != 0 }

// Latest returns the last minute after a time, and not after another, at which the schedule is due; zero if there is none.
func (s *Schedule) Latest(after, until time.Time) time.Time {
	first := after.UTC().Truncate(time.Minute).Unix() / 60
	minute := func(i int) time.Time { return time.Unix((first+int64(i))*60, 0) }
	later := sort.Search(int(max(until.Unix()/60-first, 0))+1, func(i int) bool {
		next := s.Next(minute(i))
		return next.IsZero() || next.After(until)
	})
	if later == 0 {
		return time.Time{}
	}
	return s.Next(minute(later - 1))
}

// Count returns how often the schedule is due after a time, and not after another; limit at most.
func (s *Schedule) Count(after, until time.Time, limit int) (n int) {
	for t := s.Next(after); n < limit && !t.IsZero() && !t.After(until); t = s.Next(t) {
		n++
	}
	return n
}

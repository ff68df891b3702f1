package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

func parsed(t interface {
	Helper()
	Fatalf(string, ...any)
}, text, name string) *Schedule {
	t.Helper()
	zone, problems := Zone("zone", name)
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	s, problems := Parse("schedule", text, zone)
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return s
}

// zones returns zones whose clocks change at midnight, by half an hour, in the southern hemisphere, or not at all, and one that has left
// a day out.
func zones() []string {
	return []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu", "Pacific/Apia", "America/Havana", "Atlantic/Azores"}
}

// TestNext: at which local times schedules are due, above all when clocks change.
func TestNext(t *testing.T) {
	for _, test := range []struct{ zone, schedule, after, want string }{
		{"UTC", "0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00 2108-02-29 00:00"}, // 2100 is no leap year
		{"UTC", "* * * * */5", "2026-01-01 00:00", "2026-01-02 00:00 2026-01-02 00:01"},
		{"UTC", "0 0 13 * 5", "2026-01-01 00:00", "2026-01-02 00:00 2026-01-09 00:00 2026-01-13 00:00"}, // of two days one is enough
		{"UTC", "@weekly", "2026-01-01 00:00", "2026-01-04 00:00 2026-01-11 00:00"},
		{"UTC", "59 23 31 12 *", "2026-01-01 00:00", "2026-12-31 23:59 2027-12-31 23:59"},
		// The clock goes forward, from 2 to 3: a schedule that names hours is due then, one of every hour is not.
		{"America/New_York", "30 2 * * *", "2026-03-07 00:00", "2026-03-07 02:30 2026-03-08 03:00 2026-03-09 02:30"},
		{"America/New_York", "30 2,3 * * *", "2026-03-08 00:00", "2026-03-08 03:00 2026-03-08 03:30 2026-03-09 02:30"},
		{"America/New_York", "0 3 * * *", "2026-03-08 00:00", "2026-03-08 03:00 2026-03-09 03:00"},
		{"America/New_York", "30 * * * *", "2026-03-08 01:00", "2026-03-08 01:30 2026-03-08 03:30"},
		// It goes back, from 2 to 1.
		{"America/New_York", "30 1 * * *", "2026-10-31 00:00", "2026-10-31 01:30 2026-11-01 01:30 2026-11-02 01:30"},
		{"America/New_York", "30 1,2 * * *", "2026-11-01 00:00", "2026-11-01 01:30 2026-11-01 02:30"},
		{"America/New_York", "30 * * * *", "2026-11-01 00:00", "2026-11-01 00:30 2026-11-01 01:30 2026-11-01 01:30 2026-11-01 02:30"},
		// At midnight: no day is left out.
		{"America/Santiago", "0 12 7 9 *", "2025-01-01 00:00", "2025-09-07 12:00 2026-09-07 12:00"},
		{"America/Santiago", "0 0 * * *", "2025-09-06 12:00", "2025-09-07 01:00 2025-09-08 00:00"},
		{"America/Santiago", "30 23 * * *", "2026-04-03 12:00", "2026-04-03 23:30 2026-04-04 23:30 2026-04-05 23:30"},
		{"Africa/Cairo", "0 0 * * 5", "2026-04-20 00:00", "2026-04-24 01:00 2026-05-01 00:00"},
		// By half an hour.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", "2026-10-04 02:30 2026-10-05 02:15"},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", "2026-04-05 01:45 2026-04-06 01:45"},
		// The 30th of December 2011 is left out.
		{"Pacific/Apia", "0 12 * * *", "2011-12-29 00:00", "2011-12-29 12:00 2011-12-31 00:00 2011-12-31 12:00"},
		{"Pacific/Apia", "0 * * * *", "2011-12-29 22:30", "2011-12-29 23:00 2011-12-31 00:00"},
	} {
		t.Run(test.zone+" "+test.schedule, func(t *testing.T) {
			s := parsed(t, test.schedule, test.zone)
			at, err := time.ParseInLocation("2006-01-02 15:04", test.after, s.zone)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range strings.Count(test.want, ":") {
				at = s.Next(at)
				if !s.Is(at) || s.Is(at.Add(time.Second)) {
					t.Errorf("%v: is due: %v", at, s.Is(at))
				}
				got = append(got, at.In(s.zone).Format("2006-01-02 15:04"))
			}
			if found := strings.Join(got, " "); found != test.want {
				t.Errorf("due at %s, want %s", found, test.want)
			}
		})
	}
}

// due computes for one minute what Next says of all: from its local time, the minute before, and the local times of the last three hours.
func due(s *Schedule, t time.Time) bool {
	local, before := wall(t.In(s.zone)), wall(t.Add(-time.Minute).In(s.zone))
	if s.hour&star != 0 {
		return s.wait(local) == 0
	}
	for left := before.Add(time.Minute); left.Before(local); left = left.Add(time.Minute) {
		if s.wait(left) == 0 {
			return true
		}
	}
	if s.wait(local) > 0 {
		return false
	}
	for ago := time.Minute; ago <= 3*time.Hour; ago += time.Minute {
		if wall(t.Add(-ago).In(s.zone)).Equal(local) {
			return false
		}
	}
	return true
}

// TestNextIsEveryMinute: Next, Latest and Count agree with a check of each minute, in all zones, around each change of clocks.
func TestNextIsEveryMinute(t *testing.T) {
	part := func(least, most int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			a := rapid.IntRange(least, most).Draw(t, "a")
			switch rapid.IntRange(0, 4).Draw(t, "form") {
			case 0, 1:
				return "*"
			case 2:
				return fmt.Sprint("*/", rapid.IntRange(1, (most-least)/2+1).Draw(t, "step"))
			case 3:
				return fmt.Sprint(a, "-", rapid.IntRange(a, most).Draw(t, "to"))
			}
			return fmt.Sprint(a)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones()).Draw(t, "zone")
		text := strings.Join([]string{part(0, 59).Draw(t, "minute"), part(0, 23).Draw(t, "hour"), part(1, 28).Draw(t, "day"), part(1, 12).Draw(t, "month"), part(0, 6).Draw(t, "weekday")}, " ")
		s := parsed(t, text, name)
		at := time.Date(rapid.IntRange(2005, 2030).Draw(t, "year"), time.January, rapid.IntRange(1, 365).Draw(t, "day of the year"), 0, rapid.IntRange(0, 1439).Draw(t, "minute of the day"), 0, 0, time.UTC)
		if _, change := at.In(s.zone).ZoneBounds(); !change.IsZero() && rapid.Bool().Draw(t, "at a change") {
			at = change.Add(time.Duration(-rapid.IntRange(1, 1500).Draw(t, "minutes before")) * time.Minute)
		}
		at = at.Truncate(time.Minute)
		const span = 1600
		var all []time.Time
		for m := 1; m <= span; m++ {
			if minute := at.Add(time.Duration(m) * time.Minute); due(s, minute) {
				all = append(all, minute)
			}
		}
		end := at.Add(span * time.Minute)
		var got []time.Time
		for next := s.Next(at); !next.IsZero() && !next.After(end); next = s.Next(next) {
			got = append(got, next)
		}
		if !slices.EqualFunc(all, got, time.Time.Equal) {
			t.Fatalf("%s in %s from %v: due at\n%v, found\n%v", text, name, at, all, got)
		}
		latest := s.Latest(at, end)
		if len(all) == 0 && !latest.IsZero() || len(all) > 0 && !latest.Equal(all[len(all)-1]) {
			t.Fatalf("%s: the latest is %v", text, latest)
		}
		if n := s.Count(at, end, 100); n != min(len(all), 100) {
			t.Fatalf("%s: counts %d, want %d", text, n, len(all))
		}
	})
}

package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	diff "github.com/google/go-cmp/cmp"

	"stoic/schema"
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

// TestZone: what a name means must not depend on the machine: neither on its own zone nor on files that some systems have beside the
// zones.
func TestZone(t *testing.T) {
	for name, is := range map[string]bool{
		"": true, "UTC": true, "Europe/Berlin": true, "Etc/GMT+3": true,
		"Local": false, "local": false, "localtime": false, "LOCALTIME": false, "posixrules": false, "posix/Europe/Berlin": false,
		"right/Europe/Berlin": false, "Right/UTC": false, "Mars/Olympus": false, "../../etc/localtime": false, "/usr/share/zoneinfo/UTC": false,
	} {
		zone, problems := Zone("spec.timeZone", name)
		if (zone != nil) != is || (len(problems) == 0) != is {
			t.Errorf("%q: %v, %v, want a zone: %v", name, zone, problems, is)
		}
	}
}

// clock returns a time of the 1st of January 2026 as tests write it: "15:04", "15:04:05", or with "2nd " before it of the day after; "-"
// is no time.
func clock(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "-" {
		return time.Time{}
	}
	rest, next := strings.CutPrefix(text, "2nd ")
	if strings.Count(rest, ":") == 1 {
		rest += ":00"
	}
	at, err := time.Parse("2006-01-02 15:04:05", "2026-01-01 "+rest)
	if err != nil {
		t.Fatal(err)
	}
	if next {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// TestRuns: the latest missed run is due, unless it is too late. The first run that is too late is reported, and so are many runs.
func TestRuns(t *testing.T) {
	never := int64(-1) // no deadline
	for _, test := range []struct {
		name, schedule, after, now string
		deadline                   int64
		from, next, due, late      string
		many                       bool
	}{
		{"none is due yet", "@hourly", "10:00", "10:59:59", never, "10:00", "11:00", "-", "-", false},
		{"one is due in its second", "@hourly", "10:00", "11:00", never, "10:00", "11:00", "11:00", "-", false},
		{"the latest of three", "@hourly", "10:00", "13:30", never, "10:00", "11:00", "13:00", "-", false},
		{"the clock has gone back", "@hourly", "10:00", "08:30", never, "10:00", "11:00", "-", "-", false},
		{"within the deadline", "@hourly", "10:00", "11:00:59", 60, "10:59:59", "11:00", "11:00", "-", false},
		{"as old as the deadline", "@hourly", "10:00", "11:01", 60, "11:00", "12:00", "-", "11:00", false},
		{"too late", "@hourly", "10:00", "11:30", 60, "11:29", "12:00", "-", "11:00", false},
		{"one too late, one not", "@hourly", "10:00", "12:30", 3600, "11:30", "12:00", "12:00", "11:00", false},
		{"a deadline that reaches behind the last run", "@hourly", "10:00", "11:30", 86400, "10:00", "11:00", "11:00", "-", false},
		{"a deadline that no clock holds", "@hourly", "10:00", "11:30", 1<<63 - 1, "10:00", "11:00", "11:00", "-", false},
		{"a deadline below zero is none at all", "@hourly", "10:00", "11:30", -7, "11:30", "12:00", "-", "11:00", false},
		{"a hundred are not many", "* * * * *", "10:00", "11:40:30", never, "10:00", "10:01", "11:40", "-", false},
		{"a hundred and one are", "* * * * *", "10:00", "11:41:30", never, "10:00", "10:01", "11:41", "-", true},
		{"those that are too late do not count", "* * * * *", "10:00", "2nd 10:00:30", 600, "2nd 09:50:30", "2nd 09:51", "2nd 10:00", "10:01", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			deadline := &test.deadline
			if test.deadline == never {
				deadline = nil
			}
			got := parsed(t, test.schedule, "UTC").Runs(clock(t, test.after), clock(t, test.now), deadline)
			want := Runs{From: clock(t, test.from), Next: clock(t, test.next), Due: clock(t, test.due), Late: clock(t, test.late), Many: test.many,
				after: clock(t, test.after), now: clock(t, test.now)}
			if d := diff.Diff(want, got, diff.AllowUnexported(Runs{})); d != "" {
				t.Errorf("runs (-want +got):\n%s", d)
			}
		})
	}
	if got := (*Schedule)(nil).Runs(clock(t, "10:00"), clock(t, "11:00"), nil); !got.Next.IsZero() || !got.Due.IsZero() {
		t.Errorf("no schedule is due: %+v", got)
	}
}

// TestMissed: the events about missed runs, which are the same however often, and however much later, they are emitted.
func TestMissed(t *testing.T) {
	const late = "the run of 2026-01-01T10:01:00Z was not started within spec.startingDeadlineSeconds"
	many := func(due string) string {
		return "more than 100 runs were missed; the latest is started, that of " + due
	}
	for _, test := range []struct {
		name, now string
		deadline  int64
		want      []string
	}{
		{"nothing was missed", "10:01:30", 60, nil},
		{"too late", "10:05:30", 60, []string{"MissSchedule: " + late}},
		{"as much too late as it can be", "2nd 10:00:30", 60, []string{"MissSchedule: " + late}},
		{"many, none too late", "2nd 10:00:30", 1 << 62, []string{"TooManyMissedTimes: " + many("2026-01-02T10:00:00Z")}},
		{"both", "2nd 10:00:30", 36000, []string{"MissSchedule: " + late, "TooManyMissedTimes: " + many("2026-01-02T10:00:00Z")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range parsed(t, "* * * * *", "UTC").Runs(clock(t, "10:00"), clock(t, test.now), &test.deadline).Missed() {
				got = append(got, e.Reason+": "+e.Message)
				if want := (schema.Event{Type: "Warning", Reason: e.Reason, Message: e.Message, Occasion: "2026-01-01T10:00:00Z", Key: e.Reason, Since: clock(t, test.now)}); e != want {
					t.Errorf("event %+v, want %+v", e, want)
				}
			}
			if d := diff.Diff(test.want, got); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}
		})
	}
}

// TestNames: a time is found in the name that is made from it, and in no other.
func TestNames(t *testing.T) {
	at := clock(t, "10:01")
	name := Name("tab", at)
	if want := fmt.Sprint("tab-", at.Unix()/60); name != want || !TimeOf("tab", name).Equal(at) {
		t.Errorf("%s, want %s, of %v", name, want, TimeOf("tab", name))
	}
	for _, other := range []string{"", "tab", "tab-", "tab-0", "tab--1", "tab-x", "tab-01", "tab-+1", "tab-1-1", "other-1", "tab1", "tab-9223372036854775807", "tab-99999999999999999999"} {
		if at := TimeOf("tab", other); !at.IsZero() {
			t.Errorf("%q has the time %v", other, at)
		}
	}
}

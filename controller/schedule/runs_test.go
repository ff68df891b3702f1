package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"stoic/schema"
)

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

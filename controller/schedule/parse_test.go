package schedule

import (
	"flag"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/test/golden"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestProblems: what each wrong schedule gets.
func TestProblems(t *testing.T) {
	n := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		var all []struct{ Schedule, Zone string }
		if err := yaml.Unmarshal(archive[name+".yaml"], &all); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range all {
			zone, problems := Zone("spec.timeZone", s.Zone)
			if len(problems) == 0 {
				var found *Schedule
				if found, problems = Parse("spec.cronSpec", s.Schedule, zone); (found == nil) != (len(problems) > 0) {
					t.Errorf("%q: %v and %v", s.Schedule, found, problems)
				}
			}
			b.WriteString(schema.Quote(s.Schedule) + " " + s.Zone + "\n")
			for _, p := range problems {
				b.WriteString("  " + p.String() + "\n")
			}
			if len(problems) == 0 {
				b.WriteString("  taken\n")
			}
		}
		return b.String()
	})
	if n < 2 {
		t.Errorf("%d cases", n)
	}
}

// FuzzParse: any text gets an answer within bounded time. What is accepted is due after the given time, on a whole minute, and the same
// if the given time is just before it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "* * * * */5", "@hourly", "0 0 30 2 *", ", * * * *", "TZ=UTC * * * * *", "CRON_TZ=", "TZ=0", "@every 1s", "0 0 * * THU", "H H * * *",
		"0 0 L * *", "0 0 1W * *", "* * * * 1#2", "59 23 31 12 7", "*/7 */5 */3 */2 */2", "0 0 29 2 *", "1,2,3-5,*/9 * * * *", "\x00 * * * *", "*/18446744073709551615 * * * *", "٣ * * * *"} {
		f.Add(s, "Europe/Berlin", int64(1767225600))
		f.Add(s, "America/Santiago", int64(4100000000))
	}
	f.Add("30 2 * * *", "../../etc/passwd", int64(-62135596800))
	f.Fuzz(func(t *testing.T, text, name string, at int64) {
		began := time.Now()
		defer func() {
			if took := time.Since(began); took > time.Minute { // a search takes microseconds; busy machines have pauses of seconds, and minute by minute it takes hours
				t.Errorf("%q took %v", text, took)
			}
		}()
		zone, problems := Zone("z", name)
		if (zone == nil) != (len(problems) > 0) {
			t.Fatalf("%q: %v and %v", name, zone, problems)
		}
		if zone == nil {
			zone = time.UTC
		}
		s, problems := Parse("p", text, zone)
		if (s == nil) != (len(problems) > 0) {
			t.Fatalf("%q: %v and %v", text, s, problems)
		}
		for _, p := range problems {
			if said := p.String(); len(said) > 1000 || schema.Clean(said, 2000) != said {
				t.Errorf("%q", said)
			}
		}
		if s == nil {
			return
		}
		const year = int64(365 * 24 * 60 * 60)
		from := time.Unix(max(-1960*year, min(at, 7900*year)), 0) // of the years that a timestamp can hold
		next := s.Next(from)
		if !next.After(from) || next.Unix()%60 != 0 {
			t.Errorf("%q after %v: %v", text, from, next)
		}
		if again := s.Next(next.Add(-1)); !again.Equal(next) {
			t.Errorf("%q after %v: %v, and from just before that: %v", text, from, next, again)
		}
		if latest := s.Latest(from, next); !latest.Equal(next) {
			t.Errorf("%q: the latest up to %v is %v", text, next, latest)
		}
		if latest := s.Latest(from, next.Add(-1)); !latest.IsZero() {
			t.Errorf("%q: due at %v, before the next", text, latest)
		}
	})
}

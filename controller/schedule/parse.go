package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"stoic/schema"
)

// Schedule is a set of minutes.
type Schedule struct {
	minute, hour, dayOfMonth, month, dayOfWeek uint64 // a bit for each value; see star
	zone                                       *time.Location
}

// field is one of the five fields.
type field struct{ name, values string }

func fields() [5]field {
	return [5]field{{"minute", "from 0 to 59"}, {"hour", "from 0 to 23"}, {"day of the month", "from 1 to 31"},
		{"month", "from 1 to 12 or jan to dec"}, {"day of the week", "from 0 to 7 (both are Sunday) or sun to sat"}}
}

// words returns the words that replace five fields.
func words() []string {
	return []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
}

// maxLength is the longest schedule, in bytes. A longer text is not parsed.
const maxLength = 256

// parser returns a parser like that of cron: if both the day of the month and that of the week are restricted, one of them is enough. It
// accepts neither seconds nor years, and none of the letters H, L, W and # of other programs.
func parser() cron.Parser {
	return cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)
}

// Zone returns the time zone of that name; "" is UTC. path is that of the field with the name.
func Zone(path, name string) (*time.Location, []schema.Problem) {
	zone, err := time.LoadLocation(name)
	if err != nil || isOfMachine(name) {
		return nil, []schema.Problem{{Code: schema.InvalidValue, Path: path, Found: schema.Quote(name),
			Want: "be the name of a time zone in the IANA database", Hint: `write it like "Europe/Berlin" or "Etc/UTC"`}}
	}
	return zone, nil
}

// isOfMachine reports whether a name has a meaning that the IANA database does not give it: the zone of the machine, and files that some
// systems have beside the zones. What an operator does must not depend on where it runs.
func isOfMachine(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "local", "localtime", "posixrules":
		return true
	}
	return strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
}

// Parse returns the schedule that a text means in a zone (nil: UTC), or all that is wrong with it. path is that of the field with the
// text.
func Parse(path, text string, zone *time.Location) (*Schedule, []schema.Problem) {
	wrong := func(found, want, hint string) (*Schedule, []schema.Problem) {
		return nil, []schema.Problem{{Code: schema.InvalidValue, Path: path, Found: found, Want: want, Hint: hint}}
	}
	if zone == nil {
		zone = time.UTC
	}
	all := strings.Fields(text[:min(len(text), maxLength)])
	count, first := len(all), strings.ToLower(strings.Join(all[:min(len(all), 1)], ""))
	switch {
	case len(text) > maxLength:
		return wrong(fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("be at most %d bytes", maxLength), "")
	case strings.HasPrefix(first, "tz=") || strings.HasPrefix(first, "cron_tz="):
		return wrong(schema.Quote(text), "be a schedule without a time zone", "write the zone into timeZone")
	case first == "@every":
		return wrong(schema.Quote(text), "be bound to the clock: runs are named by their minute", `for each five minutes write "*/5 * * * *"`)
	case count == 1 && first[0] == '@':
		read, err := parser().Parse(first)
		if s, ok := read.(*cron.SpecSchedule); err == nil && ok {
			return &Schedule{s.Minute, s.Hour, s.Dom, s.Month, s.Dow, zone}, nil
		}
		return wrong(schema.Quote(text), "be one of "+strings.Join(words(), ", ")+", or five fields", schema.DidYouMean(first, words(), ""))
	case count != 5:
		hint := ""
		if count == 6 {
			hint = "leave out the seconds: runs begin with a minute"
		}
		return wrong(fmt.Sprintf("%d fields in %s", count, schema.Quote(text)), "have five: minute, hour, day of the month, month, day of the week", hint)
	}
	return parseFields(path, text, all, zone)
}

func parseFields(path, text string, all []string, zone *time.Location) (*Schedule, []schema.Problem) {
	var problems []schema.Problem
	for i, f := range fields() {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = strings.ToLower(all[i]) // else THU is taken for a field with the letter H
		_, err := parser().Parse(strings.Join(alone, " "))
		if err == nil && !strings.Contains(","+all[i]+",", ",,") { // the parser takes a list of nothing, which is never due
			continue
		}
		hint := ""
		if _, step, is := strings.Cut(all[i], "/"); is {
			hint = "the step " + schema.Quote(step) + " must be at least 1, and less than the range"
		}
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: path, Found: fmt.Sprintf("%s as the %s (field %d of 5)", schema.Quote(all[i]), f.name, i+1),
			Want: "be " + f.values + `, "*", a range like 1-3, a step like */2, or a list of these`, Hint: hint})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	read, err := parser().Parse(strings.ToLower(strings.Join(all, " ")))
	s, ok := read.(*cron.SpecSchedule)
	if err != nil || !ok { // five fields that are right one by one are right together
		return nil, []schema.Problem{{Code: schema.InvalidValue, Path: path, Found: schema.Quote(text), Want: "be a schedule of five fields"}}
	}
	found := &Schedule{s.Minute, s.Hour, s.Dom, s.Month, s.Dow, zone}
	if found.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, []schema.Problem{{Code: schema.InvalidValue, Path: path, Found: schema.Quote(text), Want: "be due at some time",
			Hint: "no month that it names has such a day"}}
	}
	return found, nil
}

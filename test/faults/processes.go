package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"stoic/test/faults/cases"
)

// process is a goal that is a test of its own, in a process of its own.
type process struct {
	goal  cases.Goal
	what  string
	words []string
	// summary begins the line in which the test reports how much it tried: "schedules 100000, ...".
	summary string
	isReal  bool // its cases meet real API servers
}

// apart is the distance between the first schedules of two seeds: no schedule runs for both.
const apart = 10_000_000

func processes(o options) []process {
	seed := fmt.Sprint("-seed=", o.seed)
	schedules := fmt.Sprint("-schedules=", o.schedules)
	sequences := fmt.Sprint("-sequences=", o.sequences)
	firstSchedule := fmt.Sprint("-seed=", 1+o.seed*apart)
	test := func(words ...string) []string {
		return append([]string{"go", "test", "-count=1", "-v", "-timeout=90m"}, words...)
	}
	return []process{
		{"G7", "malformed objects of every kind: stored before the operator starts, while it runs, and by updates", test("-run=TestMalformed", "./test/faults", "-mutants=4000", seed), "mutants", true},
		{"G8", "historic bugs switched on again: each is caught", test("-run=TestEachBugIsCaught", "./test/faults/seeded", "-all"), "bugs", false},
		{"G9", "the real controller on a model of the API server, adversarial schedules", test("-run=TestSchedules", "./test/faults/simulation", firstSchedule, schedules), "schedules", false},
		{"G10", "the model answers as the real API server does", test("-run=TestModelAndAPIServer", "./test/faults/apimodel", seed, sequences, fmt.Sprint("-only=", o.sequence), fmt.Sprint("-family=", o.family)), "sequences", true},
		{"G15", "CRDs deleted, recreated and without status; an etcd that is restored", test("-run=TestDefinitionsComeAndGo|TestRestoredStore", "./test/faults"), "disruptions", true},
	}
}

// ownProcesses returns the goals with their own process that the command line selects.
func (o options) ownProcesses() (chosen []process) {
	for i, p := range processes(o) {
		if !o.list && o.asksProcess(p) && o.part.takes(uint32(i)) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// asksProcess reports whether the command line selects a goal with its own process, in any part.
func (o options) asksProcess(p process) bool {
	return o.name == "" && o.wants(p.goal) && o.operator == "" && o.subject == ""
}

// goal of the command, for its help.
type goal struct{ name, what string }

func everything() []goal {
	var all []goal
	for _, g := range cases.AllGoals() {
		all = append(all, goal{string(g), cases.What(g)})
	}
	for _, p := range processes(options{}) {
		all = append(all, goal{string(p.goal), p.what})
	}
	return all
}

// summaries copies the output of a test to a file and finds the line that sums it up.
type summaries struct {
	out    io.Writer
	mark   string
	say    func(string)
	rest   []byte
	last   string
	number int
}

func (s *summaries) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	if err != nil {
		return n, fmt.Errorf("write the log: %w", err)
	}
	s.rest = append(s.rest, p...)
	for {
		line, rest, found := bytes.Cut(s.rest, []byte("\n"))
		if !found {
			return n, nil
		}
		s.rest = rest
		s.line(string(line))
	}
}

// line looks for "MARK N" anywhere in a line: test logs put file and line in front.
func (s *summaries) line(line string) {
	found := regexp.MustCompile(regexp.QuoteMeta(s.mark) + ` (\d+)\b.*`).FindStringSubmatch(line)
	if found == nil {
		return
	}
	s.last = found[0]
	s.number, _ = strconv.Atoi(found[1])
	s.say(s.last)
}

package scenario

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// TestCronTabRules: each of these histories breaks one rule, or none.
func TestCronTabRules(t *testing.T) {
	const (
		made   = "ADDED CronTab ns/c u"
		onFile = "MODIFIED CronTab ns/c u {status: {active: [{name: c-1, uid: j}]}}"
		wiped  = "MODIFIED CronTab ns/c u {status: {}}"
		owned  = "{metadata: {ownerReferences: [{uid: u, controller: true}]}, spec: {parallelism: "
		held   = "Job ns/c-1 j " + owned + "0}}"
		runs   = "Job ns/c-1 j " + owned + "2}}"
		other  = "Job ns/c-1 k " + owned + "2}}"
	)
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"a run":               {[]string{made, "ADDED " + held, onFile, "MODIFIED " + runs, "MODIFIED " + runs, "DELETED " + runs}, ""},
		"wiped in between":    {[]string{made, "ADDED " + held, onFile, wiped, "MODIFIED " + runs}, ""},
		"never started":       {[]string{made, "ADDED " + held, "DELETED " + held, "ADDED Job ns/c-1 k " + owned + "0}}"}, ""},
		"not on record":       {[]string{made, "ADDED " + held, "MODIFIED " + runs, onFile}, "Job c-1 gets pods, and is not on record"},
		"made with pods":      {[]string{made, "ADDED " + runs}, "Job c-1 gets pods, and is not on record"},
		"twice":               {[]string{made, "ADDED " + held, onFile, "MODIFIED " + runs, "DELETED " + runs, "MODIFIED CronTab ns/c u {status: {active: [{uid: k}]}}", "ADDED " + other}, "the run of Job c-1 is started twice"},
		"another CronTab's":   {[]string{made, "ADDED " + held, onFile, "MODIFIED " + runs, "DELETED " + runs, "DELETED CronTab ns/c u", "ADDED CronTab ns/c v {status: {active: [{uid: k}]}}", "ADDED Job ns/c-1 k {metadata: {ownerReferences: [{uid: v, controller: true}]}, spec: {parallelism: 1}}"}, ""},
		"it is nobody's here": {[]string{made, "ADDED Job ns/c-1 j {spec: {parallelism: 1}}"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var versions []history.Version
			for i, line := range test.lines {
				words := strings.SplitN(line, " ", 5)
				namespace, name, _ := strings.Cut(words[2], "/")
				u := object(t, namespace, name, i+1, words[1], words[3], words[4:])
				resource := batchJobs()
				if words[1] == "CronTab" {
					resource = cronTabs().Resource
				}
				versions = append(versions, history.Version{Type: watch.EventType(words[0]), Resource: resource, Object: u})
			}
			run := history.Of(history.Subject{Resource: cronTabs().Resource, Namespace: "ns", Name: "c"}, versions...)
			rules := cronTabs().Rules
			var broken []string
			for _, v := range oracle.Judge(rules, run, nil, nil, oracle.Observe(rules, run, nil), oracle.Limits{}) {
				broken = append(broken, v.Text)
			}
			got := strings.Join(broken, "; ")
			if test.want == "" && got != "" || test.want != "" && !strings.HasPrefix(got, test.want) || len(broken) > 1 {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestDayOf: all days are past whenever it is asked, and schedules of them are due in their minute.
func TestDayOf(t *testing.T) {
	for day := 1; day <= 3; day++ {
		at := dayOf(day)
		if since := time.Since(at); since < 24*time.Hour || since > 70*24*time.Hour || at.Day() != day || at.Hour() != 0 || at.Minute() != 0 {
			t.Errorf("day %d is %v", day, at)
		}
		if want := at.Format("0 0 2 1 *"); yearly(day) != want {
			t.Errorf("the schedule %q, want %q", yearly(day), want)
		}
	}
}

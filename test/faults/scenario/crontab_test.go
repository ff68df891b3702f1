package scenario

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/history"
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
			versions := versionsOf(t, 0, map[string]schema.GroupVersionResource{"CronTab": cronTabs().Resource, "Job": batchJobs()}, test.lines)
			breaks(t, test.want, cronTabs(), history.Of(history.Subject{Resource: cronTabs().Resource, Namespace: "ns", Name: "c"}, versions...), nil, nil)
		})
	}
}

// TestDayOf: all days are in the past at any time, and their schedules are due in their minute.
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

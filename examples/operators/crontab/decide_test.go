package crontab

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"stoic/test/decision"
	"stoic/test/untyped"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// TestDecide compares the plans for the CronTabs in testdata.
func TestDecide(t *testing.T) { decision.Golden(t, Watches(), 30, *update) }

// TestOddJobs: decide returns a plan for any content of a Job.
func TestOddJobs(t *testing.T) {
	u := untyped.Parse(t, []byte(`{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: tab, namespace: team, uid: u, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {cronSpec: "@hourly", image: i}}`))
	for _, name := range []string{"tab", "tab-", "tab-x", "tab-0", "tab--1", "tab-007", "tab-+9", "tab-99999999999999999999", "tab-9223372036854775807", "tab-4223372036", "tab-29455381", "tab-29455382-1", "other-29455381"} {
		for _, rest := range []string{``, `spec: 7`, `spec: {parallelism: -1, completions: 9223372036854775807}`, `status: {conditions: [{type: Complete, status: "True", lastTransitionTime: 7}]}`, `status: []`} {
			j := untyped.Parse(t, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: "+name+", namespace: team, uid: j, labels: {"+label+": tab}, ownerReferences: [{uid: u, controller: true}]}, "+rest+"}"))
			plan := decision.Decide(t, Watches(), u, j)
			if _, err := json.Marshal(plan.Status); err != nil || plan.Rule == "" {
				t.Errorf("%s %s: %+v, %v", name, rest, plan, err)
			}
			for _, d := range plan.Delete {
				if !strings.HasPrefix(d.Name, "tab-29") {
					t.Errorf("deletes %s, which is none of its runs", d.Name)
				}
			}
		}
	}
}

package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/examples/operators/crontab"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// cronTabs returns the operator of examples/operators/crontab. Nothing depends on the time of day: schedules are yearly, and a
// run is due if the status says that the last one was years ago.
func cronTabs() *Operator {
	const deploy = "examples/operators/crontab/deploy/"
	return &Operator{Name: "crontab", Package: "./examples/operators/crontab/cmd",
		Args: []string{"--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "{flags}"},
		User: "system:serviceaccount:crontab-operators:crontab-operator", Permissions: []string{deploy + "namespace.yaml", deploy + "rbac.yaml"},
		CRDs:     []string{"test/fixtures/crontabs-open.yaml"},
		Resource: schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}, Dependents: []schema.GroupVersionResource{batchJobs()},
		// A run that was started is never recreated, whoever deletes its Job.
		Rules: oracle.Rules{Settled: fooBarSettled, Restores: func(*unstructured.Unstructured) bool { return false },
			Status: cronTabStatus, Owner: history.Owner, Writes: func(reference int) int { return 2*reference + 15 },
			Always: []func(*oracle.Case) []string{startedOnce, recordedFirst}},
		Statuses: map[string]any{
			"nothing at all":         nil,
			"no conditions":          map[string]any{"conditions": []any{}},
			"a condition of its own": map[string]any{"conditions": []any{map[string]any{"type": "Weather", "status": "Unknown"}}},
			"a future generation":    map[string]any{"observedGeneration": 77},
			"other runs are active":  map[string]any{"active": []any{map[string]any{"name": "other", "uid": "other"}}, "replicas": 7},
			"a number as time":       map[string]any{"nextScheduleTime": 7},
			"conditions of a string": map[string]any{"conditions": "none"},
		},
		// A run that was started is never recreated, so a label that its Job has lost is not restored.
		Labels: []string{"stable.example.com/crontab"}, Selected: "stable.example.com/crontab",
		Goals: []string{"G1", "G3", "G4", "G6", "G11", "G14", "G18"}, Share: 4, Basics: true, Scenarios: cronTabScenarios(), Watches: crontab.Watches,
	}
}

// dayOf returns a day of the previous month, at midnight: it is in the past, and stays the same while a test runs.
func dayOf(day int) time.Time {
	now := time.Now().UTC()
	return time.Date(now.Year(), now.Month()-1, day, 0, 0, 0, 0, time.UTC)
}

// yearly returns a schedule that is due at the beginning of one day of the year.
func yearly(day int) string { return fmt.Sprintf("0 0 %d %d *", day, dayOf(day).Month()) }

// jobOf returns the name of the Job of the run on that day.
func jobOf(day int) string { return "{name}-" + strconv.FormatInt(dayOf(day).Unix()/60, 10) }

func cronTabScenarios() []Scenario {
	const path = "spec.cronSpec"
	first, second, third := jobOf(1), jobOf(2), jobOf(3)
	another := func(day int) string { return `{"spec":{"cronSpec":"` + yearly(day) + `"}}` }
	malformed := `{"spec":{"cronSpec":"61 * * * *"}}`
	known := all(was("Stalled"), reported(path))
	ended := all(was("Ready"), idle)
	once := Scenario{Manifest: cronTab("")}
	scenarios := []Scenario{
		{Name: "crontab-run", Writes: 8, Manifest: cronTab("replicas: 2"),
			Steps: []Step{dueSince(was("Ready")), endRun(first, 0)},
			End:   all(ended, succeededOnce, runsAre(first+" Complete"))},
		{Name: "crontab-forbid", Writes: 15, Manifest: cronTab("concurrencyPolicy: Forbid"),
			Steps: []Step{dueSince(was("Ready")), edit("another time", runsAre(first+" of 1"), another(2)), endRun(first, 0), endRun(second, 0)},
			End:   all(ended, runsAre(first+" Complete", second+" Complete"))},
		// The Job that is replaced has its pod: otherwise chance decides whether the Job controller creates one.
		{Name: "crontab-replace", Writes: 15, Manifest: cronTab("concurrencyPolicy: Replace"),
			Steps: []Step{dueSince(was("Ready")), edit("another time", all(runsAre(first+" of 1"), hasPods(first)), another(2)), endRun(second, 0)},
			End:   all(ended, runsAre(second+" Complete"))},
		{Name: "crontab-history", Writes: 24, Manifest: cronTab("successfulJobsHistoryLimit: 1"),
			Steps: []Step{dueSince(was("Ready")), endRun(first, 0), edit("another time", all(ended, runsAre(first+" Complete")), another(2)), endRun(second, 0),
				edit("a third time", all(ended, runsAre(second+" Complete")), another(3)), endRun(third, 0)},
			End: all(ended, succeededOnce, runsAre(third+" Complete"))},
		{Name: "crontab-malformed", Writes: 15, Paths: []string{path}, Manifest: cronTab(""),
			Steps: []Step{dueSince(was("Ready")), spoil(runsAre(first+" of 1"), malformed), edit("repair", known, another(2)), endRun(first, 0), endRun(second, 0)},
			End:   all(ended, runsAre(first+" Complete", second+" Complete"))},
		{Name: "crontab-recreated", Writes: 15, Manifest: cronTab(""),
			Steps: []Step{dueSince(was("Ready")), drop(metav1.DeletePropagationBackground, all(runsAre(first+" of 1"), hasPods(first))), anew(once), dueSince(was("Ready")), endRun(first, 0)},
			End:   all(ended, runsAre(first+" Complete"))},
	}
	for i := range scenarios {
		scenarios[i].Dependents = []schema.GroupVersionResource{core("pods")} // they are the Jobs', and steps end them
	}
	return scenarios
}

// cronTab returns the manifest of a CronTab that is due on the first of those days, with further fields of the spec.
func cronTab(fields string) func(string) string {
	return func(name string) string {
		return fmt.Sprintf(`{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: %s}, spec: {cronSpec: "%s", image: "busybox:1"%s}}`, name, yearly(1), before(fields))
	}
}

// dueSince is the step of a client with permissions: it writes that the last run was years ago, so that this year's is due.
func dueSince(when Check) Step {
	done := func(v history.View) (bool, string) {
		return v.Job != nil && lastOf(v.Job) != "", describe(v)
	}
	return Step{Name: "the last run was years ago", When: either(done, when), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if is, _ := done(view); is || view.Job == nil {
			return nil
		}
		return a.patchStatus(ctx, view.Job, types.MergePatchType, map[string]any{"lastScheduleTime": "2001-01-01T00:00:00Z"})
	}}
}

// lastOf returns status.lastScheduleTime, or "".
func lastOf(u *unstructured.Unstructured) string {
	last, _, _ := unstructured.NestedString(u.Object, "status", "lastScheduleTime")
	return last
}

// runNamed returns the Job of that name that the CronTab controls, or nil.
func runNamed(v history.View, name string) *unstructured.Unstructured {
	for _, u := range v.Dependents {
		if u.GetName() == fill(name, v.Subject) && v.Job != nil && history.Owner(u) == v.Job.GetUID() {
			return u
		}
	}
	return nil
}

// sayRun returns "NAME of 2" for a Job with two pods, and "NAME Complete" or "NAME Failed" for one that is over.
func sayRun(u *unstructured.Unstructured) string {
	for _, end := range []string{"Complete", "Failed"} {
		if history.Is(u, end) {
			return u.GetName() + " " + end
		}
	}
	pods, _, _ := unstructured.NestedInt64(u.Object, "spec", "parallelism")
	return fmt.Sprintf("%s of %d", u.GetName(), pods)
}

// runsAre: these Jobs exist, and no others.
func runsAre(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var found, want []string
		for _, u := range v.Dependents {
			found = append(found, sayRun(u))
		}
		for _, w := range wanted {
			want = append(want, fill(w, v.Subject))
		}
		slices.Sort(found)
		return slices.Equal(found, want), fmt.Sprintf("want the Jobs %v, found %v; %s", want, found, describe(v))
	}
}

// idle: the status says that no run is active.
func idle(v history.View) (bool, string) {
	active, _, _ := unstructured.NestedSlice(v.Job.Object, "status", "active")
	return len(active) == 0, fmt.Sprintf("%d are active; %s", len(active), describe(v))
}

// succeededOnce: the status says that a run has succeeded.
func succeededOnce(v history.View) (bool, string) {
	at, _, _ := unstructured.NestedString(v.Job.Object, "status", "lastSuccessfulTime")
	return at != "", "no success is on record; " + describe(v)
}

// hasPods: all pods of the Job of that name run, or have ended. If a Job is deleted earlier, the next one of its name may get no
// pods for minutes: the Job controller waits for what it expects under that name.
func hasPods(name string) Check {
	return func(v history.View) (bool, string) {
		job := runNamed(v, name)
		if job == nil {
			return false, "want the Job " + fill(name, v.Subject) + "; " + describe(v)
		}
		wanted, _, _ := unstructured.NestedInt64(job.Object, "spec", "completions")
		have := int64(0)
		for _, p := range v.Pods {
			if history.Owner(p) == job.GetUID() && (runs(p) || ended(p)) {
				have++
			}
		}
		return have == wanted, fmt.Sprintf("%d of %d pods of %s run or have ended; %s", have, wanted, job.GetName(), describe(v))
	}
}

// endRun is a kubelet's step: all pods of the Job of that name end with an exit code.
func endRun(name string, code int64) Step {
	past := func(v history.View) (bool, string) {
		job := runNamed(v, name)
		return job != nil && batchEnded(job), describe(v)
	}
	return Step{Name: fmt.Sprintf("%s ends with %d", name, code), When: either(past, hasPods(name)), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		job := runNamed(view, name)
		for _, p := range view.Pods {
			if job != nil && history.Owner(p) == job.GetUID() && runs(p) {
				if err := a.conclude(ctx, p, code); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

// cronTabStatus returns the whole status except when conditions changed and a run ended, and the wording of conditions.
func cronTabStatus(u *unstructured.Unstructured) map[string]any {
	var conditions, active []string
	for _, c := range history.Conditions(u) {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
	}
	runs, _, _ := unstructured.NestedSlice(u.Object, "status", "active")
	for _, raw := range runs {
		r, _ := raw.(map[string]any)
		active = append(active, fmt.Sprint(r["name"]))
	}
	status, _ := u.Object["status"].(map[string]any)
	return map[string]any{"observed": observed(u), "last": status["lastScheduleTime"], "next": status["nextScheduleTime"], "replicas": status["replicas"], "selector": status["selector"],
		"succeeded": status["lastSuccessfulTime"] != nil, "active": active, "conditions": strings.Join(conditions, ", ")}
}

// begins reports whether a Job gets its first pods with this version.
func begins(before *objects, v history.Version) bool {
	pods := func(u *unstructured.Unstructured) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, "spec", "parallelism")
		return n
	}
	was, known := before.now[v.Object.GetUID()]
	return v.Resource == batchJobs() && v.Type != watch.Deleted && pods(v.Object) > 0 && (!known || pods(was.Object) == 0)
}

// startedOnce: at most one of the Jobs of one run of one CronTab gets pods.
func startedOnce(c *oracle.Case) []string {
	started := map[string]types.UID{}
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		if !begins(before, v) || c.Objects[owner] == nil {
			return ""
		}
		run := string(owner) + " " + v.Object.GetName()
		was, twice := started[run]
		started[run] = v.Object.GetUID()
		if twice && was != v.Object.GetUID() {
			return fmt.Sprintf("the run of Job %s is started twice", v.Object.GetName())
		}
		return ""
	})
}

// recordedFirst: a Job gets pods only if its UID is, or was, in the status before.
func recordedFirst(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner := c.Objects[history.Owner(v.Object)]
		if !begins(before, v) || owner == nil {
			return ""
		}
		for _, of := range owner {
			active, _, _ := unstructured.NestedSlice(of.Object.Object, "status", "active")
			for _, raw := range active {
				if r, _ := raw.(map[string]any); r["uid"] == string(v.Object.GetUID()) && history.Revision(of.Object) < history.Revision(v.Object) {
					return ""
				}
			}
		}
		return fmt.Sprintf("Job %s gets pods, and is not on record", v.Object.GetName())
	})
}

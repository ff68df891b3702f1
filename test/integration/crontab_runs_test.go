package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// minutes is a CronTab that is due each minute.
type minutes struct {
	*crontabs
	created time.Time
}

func (f *crontabs) beginMinutes(t *testing.T) *minutes {
	f.namespace(t, "minutes")
	f.apply(t, "minutes", crontab("each", `{cronSpec: "* * * * *", image: "busybox:1", successfulJobsHistoryLimit: 100}`))
	return &minutes{f, f.read(t, "minutes", "each").GetCreationTimestamp().Time}
}

// check waits for two minutes that have begun since, and checks that each minute's Job was created once, and not before its time.
func (f *minutes) check(t *testing.T) {
	if text := f.kubectl(t, nil, "-n", "minutes", "get", "ct", "each"); !strings.Contains(text, "* * * * *") || !strings.Contains(text, "True") {
		t.Errorf("kubectl shows %s", text)
	}
	first, second := f.created.Truncate(time.Minute).Add(time.Minute), time.Now().Truncate(time.Minute).Add(time.Minute)
	if !second.After(first) {
		second = first.Add(time.Minute)
	}
	await(t, "the next minute", func() (bool, string) { // within a minute and a moment
		_, there := f.jobs(t, "minutes")[jobAt("each", second)]
		return there, fmt.Sprint(len(f.jobs(t, "minutes")), " Jobs")
	})
	all := f.jobs(t, "minutes")
	for minute := first; !minute.After(second); minute = minute.Add(time.Minute) {
		j, there := all[jobAt("each", minute)]
		if delete(all, jobAt("each", minute)); !there {
			t.Errorf("the run of %v was not started", minute)
		} else if early := minute.Sub(j.CreationTimestamp.Time); early > 0 {
			t.Errorf("the run of %v was made %v before", minute, early)
		}
	}
	for minute := second; minute.Before(time.Now()); minute = minute.Add(time.Minute) { // the test may have taken so long
		delete(all, jobAt("each", minute))
	}
	if len(all) > 0 {
		t.Errorf("Jobs of other times: %v", all)
	}
	for name, n := range f.runsMade(t, "minutes") {
		if n != 1 {
			t.Errorf("%s was made %d times", name, n)
		}
	}
}

// runsMade counts how often the operator has created each Job in a namespace.
func (f *crontabs) runsMade(t *testing.T, ns string) map[string]int {
	t.Helper()
	made := map[string]int{}
	for _, q := range f.requestsOf(t, crontabUser) {
		if q.Verb == "create" && q.ObjectRef.Resource == "jobs" && q.ObjectRef.Namespace == ns && q.ResponseStatus.Code < 300 {
			made[q.ObjectRef.Name]++
		}
	}
	return made
}

// crontabRun: a normal run, from the first status to the last.
func crontabRun(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "run")
	when := f.ago(3)
	f.due(t, ns, "one", `, replicas: 2, command: [sh, -c, "exit 0"]`, when)
	name := jobAt("one", when)
	f.awaitJobs(t, ns, name)
	j := f.jobs(t, ns)[name]
	container := j.Spec.Template.Spec.Containers[0]
	if *j.Spec.Completions != 2 || container.Image != "busybox:1" || !slices.Equal(container.Command, []string{"sh", "-c", "exit 0"}) || j.OwnerReferences[0].Name != "one" {
		t.Errorf("the Job: %+v", j)
	}
	f.awaitReady(t, ns, "one", "True Scheduled", "")
	u := f.read(t, ns, "one")
	minute := when.UTC().Truncate(time.Minute)
	next := time.Date(minute.Year()+1, minute.Month(), minute.Day(), minute.Hour(), minute.Minute(), 0, 0, time.UTC)
	for field, want := range map[string]string{"lastScheduleTime": minute.Format(time.RFC3339), "nextScheduleTime": next.Format(time.RFC3339), "replicas": "2",
		"selector": "stable.example.com/crontab=one", "active": fmt.Sprintf("[map[name:%s uid:%s]]", name, j.UID)} {
		if got := statusOf(u, field); got != want {
			t.Errorf("status.%s is %s, want %s", field, got, want)
		}
	}
	f.end(t, ns, name, "Succeeded")
	await(t, "the success to be on record", func() (bool, string) {
		u := f.read(t, ns, "one")
		return statusOf(u, "lastSuccessfulTime") != "<nil>" && statusOf(u, "active") == "<nil>" && statusOf(u, "replicas") == "0", fmt.Sprint(u.Object["status"])
	})
	f.kubectl(t, nil, "-n", ns, "delete", "job", name) // by a user: the run is in the status, and is not repeated
	f.patchStatus(t, ns, "one", `{"status":{"active":[],"conditions":null}}`)
	f.awaitReady(t, ns, "one", "True Scheduled", "")
	f.awaitJobs(t, ns)
}

func crontabScale(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "scale")
	f.due(t, ns, "two", "", f.ago(4))
	f.awaitJobs(t, ns, jobAt("two", f.ago(4)))
	f.kubectl(t, nil, "-n", ns, "scale", "crontab/two", "--replicas=3")
	f.again(t, ns, "two", f.ago(3))
	f.awaitJobs(t, ns, jobAt("two", f.ago(4)), jobAt("two", f.ago(3)))
	if j := f.jobs(t, ns)[jobAt("two", f.ago(3))]; *j.Spec.Parallelism != 3 || *j.Spec.Completions != 3 {
		t.Errorf("the Job after scaling: %+v", j.Spec)
	}
	await(t, "the scale to be told", func() (bool, string) {
		text := f.kubectl(t, nil, "get", "--raw", "/apis/stable.example.com/v1/namespaces/"+ns+"/crontabs/two/scale")
		return strings.Contains(text, `"spec":{"replicas":3}`) && strings.Contains(text, `"status":{"replicas":4,"selector":"stable.example.com/crontab=two"}`), text
	})
}

func crontabSuspend(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "suspend")
	f.due(t, ns, "three", ", suspend: true", f.ago(3))
	f.awaitReady(t, ns, "three", "True Suspended", "")
	f.awaitJobs(t, ns)
	f.patch(t, ns, "three", `{"spec":{"suspend":false}}`)
	f.awaitJobs(t, ns, jobAt("three", f.ago(3)))
	f.patch(t, ns, "three", `{"spec":{"suspend":true,"cronSpec":"`+at(f.ago(2))+`"}}`)
	f.awaitReady(t, ns, "three", "True Suspended", "")
	f.awaitJobs(t, ns, jobAt("three", f.ago(3))) // what runs continues
}

func crontabForbid(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "forbid")
	f.due(t, ns, "four", ", concurrencyPolicy: Forbid", f.ago(4))
	first, second := jobAt("four", f.ago(4)), jobAt("four", f.ago(3))
	f.awaitJobs(t, ns, first)
	f.again(t, ns, "four", f.ago(3))
	f.awaitReady(t, ns, "four", "True Waiting", "waits")
	f.awaitEvent(t, ns, "four", "JobAlreadyActive", "", "waits")
	f.awaitJobs(t, ns, first)
	f.end(t, ns, first, "Succeeded")
	f.awaitJobs(t, ns, first, second)
}

func crontabReplace(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "replace")
	f.due(t, ns, "five", ", concurrencyPolicy: Replace", f.ago(4))
	f.awaitJobs(t, ns, jobAt("five", f.ago(4)))
	f.again(t, ns, "five", f.ago(3))
	f.awaitJobs(t, ns, jobAt("five", f.ago(3)))
	await(t, "the pods of the first run to go", func() (bool, string) {
		text := f.kubectl(t, nil, "-n", ns, "get", "pods", "-l", "stable.example.com/crontab=five", "-o", "name")
		return strings.Count(text, "pod/") == 1, text
	})
}

func crontabHistory(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "history")
	f.due(t, ns, "six", ", successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0", f.ago(6))
	f.awaitJobs(t, ns, jobAt("six", f.ago(6)))
	f.end(t, ns, jobAt("six", f.ago(6)), "Succeeded")
	f.again(t, ns, "six", f.ago(5))
	f.awaitJobs(t, ns, jobAt("six", f.ago(6)), jobAt("six", f.ago(5)))
	f.end(t, ns, jobAt("six", f.ago(5)), "Failed")
	f.awaitJobs(t, ns, jobAt("six", f.ago(6)))
	f.again(t, ns, "six", f.ago(4))
	f.awaitJobs(t, ns, jobAt("six", f.ago(6)), jobAt("six", f.ago(4)))
	f.end(t, ns, jobAt("six", f.ago(4)), "Succeeded")
	f.awaitJobs(t, ns, jobAt("six", f.ago(4)))
	f.patch(t, ns, "six", `{"spec":{"successfulJobsHistoryLimit":0}}`)
	f.awaitJobs(t, ns)
	if u := f.read(t, ns, "six"); statusOf(u, "lastScheduleTime") != f.ago(4).UTC().Truncate(time.Minute).Format(time.RFC3339) || statusOf(u, "lastSuccessfulTime") == "<nil>" {
		t.Errorf("what went is not on record: %v", u.Object["status"])
	}
}

// crontabRefused: an exceeded quota is reported, and the run is started when there is room.
func crontabRefused(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "refused")
	f.kubectl(t, nil, "-n", ns, "create", "quota", "none", "--hard=count/jobs.batch=0")
	await(t, "the quota to be known", func() (bool, string) {
		text := f.kubectl(t, nil, "-n", ns, "get", "quota", "none", "-o", "jsonpath={.status.hard}")
		return strings.Contains(text, "count/jobs.batch"), text
	})
	f.due(t, ns, "seven", "", f.ago(3))
	f.awaitReady(t, ns, "seven", "False Refused", "quota")
	f.awaitEvent(t, ns, "seven", "FailedCreate", "", "quota")
	f.kubectl(t, nil, "-n", ns, "delete", "quota", "none")
	f.awaitJobs(t, ns, jobAt("seven", f.ago(3)))
	f.awaitReady(t, ns, "seven", "True Scheduled", "")
}

func crontabNameTaken(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "taken")
	name := jobAt("eight", f.ago(3))
	f.kubectl(t, nil, "-n", ns, "create", "job", name, "--image=mine:1")
	f.due(t, ns, "eight", "", f.ago(3))
	f.awaitEvent(t, ns, "eight", "NameConflict", "", name)
	f.awaitReady(t, ns, "eight", "False Refused", name)
	if image := f.kubectl(t, nil, "-n", ns, "get", "job", name, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); image != "mine:1" {
		t.Errorf("the Job of somebody else: %s", image)
	}
	f.again(t, ns, "eight", f.ago(2)) // another run has another name
	f.awaitJobs(t, ns, name, jobAt("eight", f.ago(2)))
	f.awaitReady(t, ns, "eight", "True Scheduled", "")
}

// crontabRecreated: a CronTab does not take over the runs of a deleted one of the same name.
func crontabRecreated(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "recreated")
	f.due(t, ns, "nine", "", f.ago(3))
	name := jobAt("nine", f.ago(3))
	f.awaitJobs(t, ns, name)
	was := f.jobs(t, ns)[name].UID
	f.kubectl(t, nil, "-n", ns, "delete", "ct", "nine", "--wait=false")
	f.due(t, ns, "nine", "", f.ago(3))
	await(t, "the Job of the second", func() (bool, string) {
		j, there := f.jobs(t, ns)[name]
		return there && j.UID != was && *j.Spec.Parallelism == 1, fmt.Sprint(there, j.UID)
	})
	f.kubectl(t, nil, "-n", ns, "delete", "ct", "nine", "--cascade=foreground", "--timeout=3m")
	f.awaitJobs(t, ns)
}

// crontabStatusEdited: a status that another client wipes is rebuilt from the Jobs, and nothing runs twice.
func crontabStatusEdited(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "status")
	f.due(t, ns, "ten", "", f.ago(3))
	name := jobAt("ten", f.ago(3))
	f.awaitJobs(t, ns, name)
	was := f.jobs(t, ns)[name].UID
	for _, status := range []string{`{"status":null}`, `{"status":{"lastScheduleTime":null,"active":null}}`, `{"status":{"lastScheduleTime":"2001-01-01T00:00:00Z"}}`, `{"status":{"observedGeneration":77,"replicas":9}}`} {
		f.patchStatus(t, ns, "ten", status)
		await(t, "the status to be rebuilt after "+status, func() (bool, string) {
			u := f.read(t, ns, "ten")
			return statusOf(u, "lastScheduleTime") == f.ago(3).UTC().Truncate(time.Minute).Format(time.RFC3339) && statusOf(u, "replicas") == "1" && strings.Contains(statusOf(u, "active"), string(was)), fmt.Sprint(u.Object["status"])
		})
	}
	f.awaitJobs(t, ns, name)
	if is := f.jobs(t, ns)[name].UID; is != was {
		t.Errorf("another Job: %s, was %s", is, was)
	}
	f.patchStatus(t, ns, "ten", `{"status":{"lastScheduleTime":"2999-01-01T00:00:00Z"}}`)
	f.awaitReady(t, ns, "ten", "False LastRunInFuture", "lastScheduleTime")
	f.patchStatus(t, ns, "ten", `{"status":{"lastScheduleTime":null}}`)
	f.awaitReady(t, ns, "ten", "True Scheduled", "")
}

func crontabMissedMany(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "missed")
	f.apply(t, ns, crontab("eleven", `{cronSpec: "@hourly", image: "busybox:1", startingDeadlineSeconds: 36000000}`))
	f.patchStatus(t, ns, "eleven", `{"status":{"lastScheduleTime":"2020-01-01T00:00:00Z"}}`)
	f.awaitEvent(t, ns, "eleven", "TooManyMissedTimes", "", "more than 100")
	f.awaitEvent(t, ns, "eleven", "MissSchedule", "", "2020-01-01T01:00:00Z")
	await(t, "one run", func() (bool, string) {
		all := f.jobs(t, ns)
		u := f.read(t, ns, "eleven")
		last, err := time.Parse(time.RFC3339, statusOf(u, "lastScheduleTime"))
		_, there := all[jobAt("eleven", last)]
		return err == nil && there && time.Since(last) < 2*time.Hour, fmt.Sprint(len(all), " Jobs, ", u.Object["status"])
	})
	if n := len(f.jobs(t, ns)); n > 2 { // a second one if an hour has begun meanwhile
		t.Errorf("%d Jobs", n)
	}
}

// crontabTooLate: a run that was missed for longer than its deadline is reported and not started. If an edit extends the deadline
// so that the run is within it, the run is started, once.
func crontabTooLate(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "late")
	missed := f.ago(3)
	name := jobAt("twelve", missed)
	f.due(t, ns, "twelve", ", startingDeadlineSeconds: 7200", missed)
	f.awaitEvent(t, ns, "twelve", "MissSchedule", "", missed.UTC().Truncate(time.Minute).Format(time.RFC3339)+" was not started within spec.startingDeadlineSeconds")
	f.patch(t, ns, "twelve", `{"spec":{"image":"busybox:2"}}`)
	f.awaitReady(t, ns, "twelve", "True Scheduled", "") // of the edited spec: the writes of the reconcile that reported it are done
	if made := f.runsMade(t, ns); len(made) > 0 {
		t.Errorf("it was too late for %v", made)
	}
	f.patch(t, ns, "twelve", `{"spec":{"startingDeadlineSeconds":36000}}`)
	f.awaitJobs(t, ns, name)
	f.awaitReady(t, ns, "twelve", "True Scheduled", "")
	if made := f.runsMade(t, ns); len(made) != 1 || made[name] != 1 {
		t.Errorf("want %s once, were made %v", name, made)
	}
}

// crontabRelabelled: a Job of ours that has lost its label, so that no cache has it, gets the label back when its run is due.
// That Job runs.
func crontabRelabelled(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "relabelled")
	f.apply(t, ns, crontab("fourteen", `{cronSpec: "`+at(f.ago(3))+`", image: "busybox:1"}`))
	name := jobAt("fourteen", f.ago(3))
	f.apply(t, ns, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: %s, ownerReferences: [{apiVersion: stable.example.com/v1, kind: CronTab, name: fourteen, uid: %s, controller: true}]},
		spec: {parallelism: 0, completions: 1, template: {spec: {restartPolicy: Never, containers: [{name: run, image: "busybox:1"}]}}}}`, name, f.read(t, ns, "fourteen").GetUID()))
	was := f.jobs(t, ns)[name].UID
	f.patchStatus(t, ns, "fourteen", `{"status":{"lastScheduleTime":"`+f.ago(100).UTC().Format(time.RFC3339)+`"}}`)
	f.awaitJobs(t, ns, name)
	if j := f.jobs(t, ns)[name]; j.UID != was || j.Labels["stable.example.com/crontab"] != "fourteen" {
		t.Errorf("the Job was %s, is %s with the labels %v", was, j.UID, j.Labels)
	}
	f.awaitReady(t, ns, "fourteen", "True Scheduled", "")
}

// crontabByTheCRD: what the API server itself rejects, and what it defaults.
func crontabByTheCRD(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "crd")
	for _, spec := range []string{`{cronSpec: "TZ=UTC 0 0 * * *", image: a}`, `{cronSpec: "0 0 * * * *", image: a}`, `{cronSpec: "@every 5m", image: a}`, `{cronSpec: "@daily"}`, `{cronSpec: "@daily", image: a, replicas: -1}`,
		`{cronSpec: "@daily", image: a, concurrencyPolicy: Perhaps}`, `{cronSpec: "@daily", image: a, startingDeadlineSeconds: 0}`} {
		if out, err := f.tryKubectl([]byte(crontab("wrong", spec)), "-n", ns, "apply", "-f", "-"); err == nil {
			t.Errorf("%s is taken: %s", spec, out)
		}
	}
	f.apply(t, ns, crontab("right", `{cronSpec: "* * * * */5", image: a}`))
	u := f.read(t, ns, "right")
	if replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); replicas != 1 {
		t.Errorf("the spec: %v", u.Object["spec"])
	}
}

// crontabCRDRecreated: the CRD is deleted with all objects and recreated, for a running process and for one that starts before it.
func crontabCRDRecreated(t *testing.T, f *crontabs) {
	ns := f.namespace(t, "again")
	p := f.start(t)
	f.due(t, ns, "thirteen", "", f.ago(3))
	f.awaitJobs(t, ns, jobAt("thirteen", f.ago(3)))
	f.undefine(t, crontabDeploy+"/crd/crontabs.yaml")
	f.awaitJobs(t, ns)
	f.define(t, crontabDeploy+"/crd/crontabs.yaml")
	serves := func() {
		await(t, "the CronTab to be taken", func() (bool, string) {
			out, err := f.tryKubectl([]byte(crontab("thirteen", `{cronSpec: "`+at(f.ago(2))+`", image: "busybox:1"}`)), "-n", ns, "apply", "-f", "-")
			return err == nil, out
		})
		f.patchStatus(t, ns, "thirteen", `{"status":{"lastScheduleTime":"`+f.ago(100).UTC().Format(time.RFC3339)+`"}}`)
		f.awaitJobs(t, ns, jobAt("thirteen", f.ago(2)))
	}
	serves()
	f.beforeItsCRD(t, p, func() *process { return f.start(t) }, crontabDeploy+"/crd", []string{"CronTab"}, serves)
}

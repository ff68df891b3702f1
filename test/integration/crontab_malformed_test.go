package integration

import (
	"fmt"
	"strings"
	"testing"
)

// malformedCronTabs returns specs that an API server with an open schema stores; path is where the first problem of each is.
func malformedCronTabs() []malformed {
	const schedule, image = "spec.cronSpec", `, image: "busybox:1"}`
	all := []malformed{
		{name: strings.Repeat("n", 53), path: "metadata.name", spec: `{cronSpec: "@daily"` + image},
		{name: "image-absent", path: "spec.image", spec: `{cronSpec: "@daily"}`},
		{name: "image-integer", path: "spec.image", spec: `{cronSpec: "@daily", image: 7}`},
		{name: "image-empty", path: "spec.image", spec: `{cronSpec: "@daily", image: ""}`},
		{name: "zone-unknown", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: Europe/Berln` + image},
		{name: "zone-local", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: Local` + image},
		{name: "zone-path", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: ../../../etc/passwd` + image},
		{name: "zone-integer", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: 2` + image},
		{name: "zone-huge", path: "spec.timeZone", spec: `{cronSpec: "@daily", timeZone: ` + strings.Repeat("z", 200_000) + image},
		{name: "replicas-string", path: "spec.replicas", spec: `{cronSpec: "@daily", replicas: "3"` + image},
		{name: "replicas-negative", path: "spec.replicas", spec: `{cronSpec: "@daily", replicas: -1` + image},
		{name: "replicas-huge", path: "spec.replicas", spec: `{cronSpec: "@daily", replicas: 99999999999` + image},
		{name: "suspend-string", path: "spec.suspend", spec: `{cronSpec: "@daily", suspend: "yes"` + image},
		{name: "policy-wrong", path: "spec.concurrencyPolicy", spec: `{cronSpec: "@daily", concurrencyPolicy: forbid` + image},
		{name: "deadline-zero", path: "spec.startingDeadlineSeconds", spec: `{cronSpec: "@daily", startingDeadlineSeconds: 0` + image},
		{name: "deadline-fraction", path: "spec.startingDeadlineSeconds", spec: `{cronSpec: "@daily", startingDeadlineSeconds: 1.5` + image},
		{name: "history-negative", path: "spec.successfulJobsHistoryLimit", spec: `{cronSpec: "@daily", successfulJobsHistoryLimit: -1` + image},
		{name: "history-list", path: "spec.failedJobsHistoryLimit", spec: `{cronSpec: "@daily", failedJobsHistoryLimit: []` + image},
		{name: "command-string", path: "spec.command", spec: `{cronSpec: "@daily", command: "sleep 1"` + image},
		{name: "command-integer", path: "spec.command[1]", spec: `{cronSpec: "@daily", command: [sleep, 1]` + image},
		{name: "spec-string", path: "spec", spec: `nonsense`},
		{name: "spec-list", path: "spec", spec: `[1]`},
		{name: "no-spec", path: schedule, spec: ""},
		{name: "spec-empty", path: schedule, spec: `{}`},
	}
	for name, text := range map[string]string{"integer": "7", "null": "null", "list": "[0, 0, 1, 1, 0]", "empty": `""`, "minute-60": `"60 * * * *"`, "day-0": `"0 0 0 * *"`, "four": `"* * * *"`, "six": `"0 * * * * *"`, "never": `"0 0 30 2 *"`,
		"zone": `"TZ=UTC * * * * *"`, "cron-zone": `"CRON_TZ=UTC"`, "zone-nothing": `"TZ=0"`, "every": `"@every 1s"`, "reboot": `"@reboot"`, "comma": `", * * * *"`, "huge": strings.Repeat("9", 200_000)} {
		all = append(all, malformed{name: "schedule-" + name, path: schedule, spec: "{cronSpec: " + text + image})
	}
	return all
}

// oddCronTabStatuses returns statuses that an open schema accepts.
func oddCronTabStatuses() []string {
	return []string{`7`, `text`, `[1]`, `{lastScheduleTime: 4}`, `{lastScheduleTime: yesterday, active: none}`, `{active: [1, null, {name: 7}], replicas: many}`, `{conditions: [1, null, {type: Ready}]}`,
		`{observedGeneration: many}`, `{nextScheduleTime: "2001-01-01T00:00:00Z", replicas: -5}`, `{conditions: [{type: Odd, status: Perhaps, reason: "", message: 3}]}`}
}

// storeMalformed stores all, each with a malformed status, and some well-formed ones beside them.
func (f *crontabs) storeMalformed(t *testing.T) {
	t.Helper()
	// With a scale subresource the API server reads spec.replicas itself.
	f.patchDefinition(t, "crontabs.stable.example.com", `[{"op":"remove","path":"/spec/versions/0/subresources/scale"}]`)
	await(t, "the scale subresource to go", func() (bool, string) {
		out, err := f.tryKubectl([]byte(crontab("open", `{replicas: "3"}`)), "-n", "malformed", "create", "-f", "-")
		return err == nil, out
	})
	f.kubectl(t, nil, "-n", "malformed", "delete", "crontab", "open")
	var all []string
	odd := oddCronTabStatuses()
	for i, m := range malformedCronTabs() {
		all = append(all, crontab(m.name, m.spec))
		all = append(all, crontab(fmt.Sprintf("sound-%d", i%len(odd)), `{cronSpec: "`+at(f.ago(3))+`", image: "busybox:1"}`))
		if i >= len(odd) {
			all = all[:len(all)-1]
		}
	}
	f.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", "malformed", "create", "-f", "-")
	for i, m := range malformedCronTabs() {
		f.patchStatus(t, "malformed", m.name, "status: "+odd[i%len(odd)])
		if i < len(odd) {
			f.patchStatus(t, "malformed", fmt.Sprintf("sound-%d", i), "status: "+odd[i])
		}
	}
}

// crontabMalformed: each has its condition and its event with the exact path, and the well-formed ones are served.
func crontabMalformed(t *testing.T, f *crontabs) {
	const ns = "malformed"
	for i := range oddCronTabStatuses() {
		f.awaitReady(t, ns, fmt.Sprintf("sound-%d", i), "True Scheduled", "")
	}
	for _, m := range malformedCronTabs() {
		f.awaitEvent(t, ns, m.name, "CronTabFailedValidation", m.path, m.path+": ")
		f.awaitReady(t, ns, m.name, "False InvalidSpec", m.path+": ")
		if stalled, _ := condition(f.read(t, ns, m.name), "Stalled"); stalled != "True InvalidSpec" {
			t.Errorf("%s: %s", m.name, stalled)
		}
	}
	f.awaitJobs(t, ns)
	f.patch(t, ns, "schedule-six", `{"spec":{"cronSpec":"`+at(f.ago(3))+`"}}`) // it is repaired, and has a past run
	f.awaitReady(t, ns, "schedule-six", "True Scheduled", "")
	f.patchStatus(t, ns, "schedule-six", `{"status":{"lastScheduleTime":"2001-01-01T00:00:00Z"}}`)
	f.awaitJobs(t, ns, jobAt("schedule-six", f.ago(3)))
}

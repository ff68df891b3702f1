package integration

import (
	"fmt"
	"strings"
	"testing"
)

// malformedSets returns specs of FooBarSets that an API server with an open schema stores; path is where the first problem is.
func malformedSets() []malformed {
	return []malformed{
		{name: "count-string", path: "spec.count", spec: `{count: "2", template: {image: a}}`},
		{name: "count-fraction", path: "spec.count", spec: `{count: 1.5, template: {image: a}}`},
		{name: "count-negative", path: "spec.count", spec: `{count: -1, template: {image: a}}`},
		{name: "count-huge", path: "spec.count", spec: `{count: 2147483647, template: {image: a}}`},
		{name: "count-larger", path: "spec.count", spec: `{count: 9223372036854775807, template: {image: a}}`},
		{name: "count-list", path: "spec.count", spec: `{count: [1], template: {image: a}}`},
		{name: "no-template", path: "spec.template", spec: `{count: 2}`},
		{name: "template-string", path: "spec.template", spec: `{template: a}`},
		{name: "template-null", path: "spec.template", spec: `{template: null}`},
		{name: "image-absent", path: "spec.template.image", spec: `{template: {command: [a]}}`},
		{name: "image-integer", path: "spec.template.image", spec: `{template: {image: 7}}`},
		{name: "image-space", path: "spec.template.image", spec: `{template: {image: "a b"}}`},
		{name: "image-huge", path: "spec.template.image", spec: `{template: {image: ` + strings.Repeat("a", 200_000) + `}}`},
		{name: "command-string", path: "spec.template.command", spec: `{template: {image: a, command: run}}`},
		{name: "command-integer", path: "spec.template.command[1]", spec: `{template: {image: a, command: [run, 7]}}`},
		{name: "limit-string", path: "spec.template.backoffLimit", spec: `{template: {image: a, backoffLimit: "3"}}`},
		{name: "spec-string", path: "spec", spec: `nonsense`},
		{name: "spec-list", path: "spec", spec: `[1]`},
		{name: "no-spec", path: "spec.template", spec: ""},
	}
}

// malformedTasks returns the same for FooBarTasks, created by hand.
func malformedTasks() []malformed {
	return []malformed{
		{name: "image-absent", path: "spec.image", spec: `{command: [a]}`},
		{name: "image-integer", path: "spec.image", spec: `{image: 7}`},
		{name: "image-null", path: "spec.image", spec: `{image: null}`},
		{name: "command-object", path: "spec.command", spec: `{image: a, command: {a: b}}`},
		{name: "limit-huge", path: "spec.backoffLimit", spec: `{image: a, backoffLimit: 2147483647}`},
		{name: "spec-integer", path: "spec", spec: `7`},
	}
}

// storeMalformed stores all, and some well-formed ones beside them, many with a malformed status.
func (f *fooBarSets) storeMalformed(t *testing.T, ns string) {
	t.Helper()
	f.namespace(t, ns)
	odd := []string{`7`, `"text"`, `[1]`, `{"tasks":"many"}`, `{"conditions":"none"}`, `{"conditions":[1,null,{"type":"Ready"}]}`, `{"observedGeneration":"many","succeeded":-4}`}
	var all []string
	for _, m := range malformedSets() {
		all = append(all, fooBarSet(m.name, m.spec))
	}
	for _, m := range malformedTasks() {
		all = append(all, fooBarTask("task-"+m.name, m.spec))
	}
	for i := range odd {
		all = append(all, fooBarSet(fmt.Sprintf("sound-%d", i), `{template: {image: "a:1"}}`))
	}
	f.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", ns, "create", "-f", "-")
	for i, status := range odd { // a creation drops the status
		for _, name := range []string{malformedSets()[i].name, fmt.Sprintf("sound-%d", i)} {
			f.kubectl(t, nil, "-n", ns, "patch", "foobarset", name, "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
		}
	}
}

// fooBarSetMalformed: each has its condition and its event with the exact path, and no dependents; the well-formed ones are
// served.
func fooBarSetMalformed(t *testing.T, f *fooBarSets) {
	ns := "malformed-" + f.form
	for i := range 7 {
		f.awaitSet(t, ns, fmt.Sprintf("sound-%d", i), "1 tasks, 1 active, 0 succeeded, 0 failed", "Ready", "True Running")
	}
	for _, m := range malformedSets() {
		f.awaitEvent(t, ns, m.name, "FooBarSetFailedValidation", m.path, m.path+": ")
		f.awaitSet(t, ns, m.name, "0 tasks, 0 active, 0 succeeded, 0 failed", "Stalled", "True InvalidSpec")
	}
	for _, m := range malformedTasks() {
		name := "task-" + m.name
		f.awaitEvent(t, ns, name, "FooBarTaskFailedValidation", m.path, m.path+": ")
		await(t, name+" to be rejected", func() (bool, string) {
			is, message := condition(f.read(t, f.tasksResource(), ns, name), "Stalled")
			return is == "True InvalidSpec" && strings.Contains(message, m.path+": "), is + message
		})
	}
	if jobs := strings.Fields(f.kubectl(t, nil, "-n", ns, "get", "jobs", "-o", "name")); len(jobs) != 7 {
		t.Errorf("Jobs %v, want those of the 7 that are well-formed", jobs)
	}
}

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// malformedFooBars returns specs that an API server with an open schema stores; path is where the first problem of each is.
func malformedFooBars() []malformed {
	long := strings.Repeat("a", 300)
	return []malformed{
		{name: "target-integer", path: "spec.target", spec: `{target: 7}`},
		{name: "target-fraction", path: "spec.target", spec: `{target: 1.5}`},
		{name: "target-boolean", path: "spec.target", spec: `{target: true}`},
		{name: "target-null", path: "spec.target", spec: `{target: null}`},
		{name: "target-absent", path: "spec.target", spec: `{type: Copy}`},
		{name: "target-empty", path: "spec.target", spec: `{target: ""}`},
		{name: "target-list", path: "spec.target", spec: `{target: [a]}`},
		{name: "target-object", path: "spec.target", spec: `{target: {name: a}}`},
		{name: "target-upper", path: "spec.target", spec: `{target: Web}`},
		{name: "target-underscore", path: "spec.target", spec: `{target: my_map}`},
		{name: "target-slash", path: "spec.target", spec: `{target: a/b}`},
		{name: "target-dots", path: "spec.target", spec: `{target: ..}`},
		{name: "target-huge", path: "spec.target", spec: `{target: ` + strings.Repeat("a", 200_000) + `}`},
		{name: "target-long", path: "spec.target", spec: `{target: ` + long + `}`},
		{name: "type-wrong", path: "spec.type", spec: `{target: a, type: Move}`},
		{name: "type-lower", path: "spec.type", spec: `{target: a, type: copy}`},
		{name: "type-integer", path: "spec.type", spec: `{target: a, type: 3}`},
		{name: "type-empty", path: "spec.type", spec: `{target: a, type: ""}`},
		{name: "space-integer", path: "spec.targetNamespace", spec: `{target: a, targetNamespace: 5}`},
		{name: "space-dots", path: "spec.targetNamespace", spec: `{target: a, targetNamespace: a.b}`},
		{name: "space-list", path: "spec.targetNamespace", spec: `{target: a, targetNamespace: []}`},
		{name: "spec-string", path: "spec", spec: `nonsense`},
		{name: "spec-list", path: "spec", spec: `[1]`},
		{name: "spec-integer", path: "spec", spec: `7`},
		{name: "no-spec", path: "spec.target", spec: ""},
		{name: "spec-empty", path: "spec.target", spec: `{}`},
	}
}

// oddStatuses returns statuses that an open schema accepts.
func oddStatuses() []string {
	return []string{`7`, `"text"`, `[1]`, `{"target": 4}`, `{"conditions": "none"}`, `{"conditions": [1, null, {"type": "Ready"}]}`, `{"observedGeneration": "many"}`,
		`{"conditions": [{"type": "Odd", "status": "Perhaps", "reason": "", "message": 3}]}`}
}

// storeMalformed stores all, and some well-formed ones beside them, each with a malformed status.
func (f *foobars) storeMalformed(t *testing.T) {
	t.Helper()
	var all []string
	for _, m := range malformedFooBars() {
		all = append(all, foobar("FooBar", m.name, m.spec))
	}
	for i := range oddStatuses() {
		all = append(all, foobar("FooBar", fmt.Sprintf("sound-%d", i), fmt.Sprintf("{target: sound-%d}", i)))
	}
	f.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", "malformed", "create", "-f", "-")
	odd := oddStatuses()
	for i, m := range malformedFooBars() {
		f.patchStatus(t, m.name, `{"op": "add", "path": "/status", "value": `+odd[i%len(odd)]+`}`)
	}
	for i, status := range odd {
		f.patchStatus(t, fmt.Sprintf("sound-%d", i), `{"op": "add", "path": "/status", "value": `+status+`}`)
	}
}

// patchStatus applies one step of a JSON patch to a status. An API server drops the status of a creation.
func (f *foobars) patchStatus(t *testing.T, name, step string) {
	t.Helper()
	_, err := f.all("malformed").Patch(context.Background(), name, types.JSONPatchType, []byte("["+step+"]"), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatalf("patch the status of %s with %s: %v", name, step, err)
	}
}

// foobarMalformed: each has its condition and its event with the exact path, and the well-formed ones are served.
func foobarMalformed(t *testing.T, f *foobars) {
	const ns = "malformed"
	var sound []string
	for i := range oddStatuses() {
		name := fmt.Sprintf("sound-%d", i)
		f.awaitReady(t, ns, name, ns+"/"+name)
		sound = append(sound, ns+"/"+name+"="+name)
	}
	for _, m := range malformedFooBars() {
		f.awaitEvent(t, ns, m.name, "FooBarFailedValidation", m.path, m.path+": ")
		await(t, m.name+" to be rejected", func() (bool, string) {
			u := f.read(t, ns, m.name)
			stalled, message := condition(u, "Stalled")
			ready, _ := condition(u, "Ready")
			return stalled == "True InvalidSpec" && ready == "False InvalidSpec" && strings.Contains(message, m.path+": "), fmt.Sprint(stalled, ready, message)
		})
	}
	if got := f.maps(t, ns); got != strings.Join(sound, " ") {
		t.Errorf("ConfigMaps %s, want %v", got, sound)
	}
}

// foobarStatusOfAnotherType: with an open schema, a status field to which another client gives a value of another type is
// rewritten, also if the rest of the status is right.
func foobarStatusOfAnotherType(t *testing.T, f *foobars) {
	f.redefine(t, root+"/test/fixtures/foobars-open.yaml")
	defer f.redefine(t, foobarDeploy+"/crd")
	was, steps := f.read(t, "malformed", "sound-0").Object["status"], []string{`{"op": "add", "path": "/status/conditions/-", "value": 7}`,
		`{"op": "add", "path": "/status/conditions/0", "value": null}`}
	for _, status := range oddStatuses() {
		steps = append(steps, `{"op": "add", "path": "/status", "value": `+status+`}`)
	}
	await(t, "the open schema to hold", func() (bool, string) { // a changed CRD takes effect a moment later
		_, err := f.all("malformed").Patch(t.Context(), "sound-0", types.JSONPatchType, []byte("["+steps[0]+"]"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return err == nil, fmt.Sprint(err)
	})
	for _, step := range steps {
		f.patchStatus(t, "sound-0", step)
		await(t, "the status to be put right after "+step, func() (bool, string) {
			now := f.read(t, "malformed", "sound-0").Object["status"]
			diff := cmp.Diff(was, now, cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "lastTransitionTime" }))
			return diff == "", diff
		})
	}
}

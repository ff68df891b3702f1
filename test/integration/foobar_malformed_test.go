package integration

import (
	"fmt"
	"strings"
	"testing"
)

// malformedFooBars are specs that an API server with an open schema stores; path is where the first problem of each is.
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

// oddStatuses are what an open schema takes as a status.
func oddStatuses() []string {
	return []string{`7`, `text`, `[1]`, `{target: 4}`, `{conditions: none}`, `{conditions: [1, null, {type: Ready}]}`, `{observedGeneration: many}`,
		`{conditions: [{type: Odd, status: Perhaps, reason: "", message: 3}]}`}
}

// storeMalformed stores all, each with a status of an odd shape, and some that are well-formed beside them.
func (f *foobars) storeMalformed(t *testing.T) {
	t.Helper()
	var all []string
	odd := oddStatuses()
	for i, m := range malformedFooBars() {
		all = append(all, foobar("FooBar", m.name, m.spec)+"status: "+odd[i%len(odd)]+"\n")
	}
	for i, status := range odd {
		all = append(all, foobar("FooBar", fmt.Sprintf("sound-%d", i), fmt.Sprintf("{target: sound-%d}", i))+"status: "+status+"\n")
	}
	f.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", "malformed", "create", "-f", "-")
}

// foobarMalformed: each has its condition and its event with the exact path, and those beside them are served.
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

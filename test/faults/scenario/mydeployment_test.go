package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
)

// recordedPods returns the run of these versions: each line is "TYPE KIND NAME UID" and more in YAML.
func recordedPods(t *testing.T, lines ...string) *history.Run {
	t.Helper()
	o := myDeployments()
	versions := versionsOf(t, time.Second, map[string]schema.GroupVersionResource{"MyDeployment": o.Resource, "Pod": core("pods")}, lines)
	return history.Of(history.Subject{Resource: o.Resource, Namespace: "ns", Name: "m"}, versions...)
}

// TestMyDeploymentRules: each of these histories breaks one rule, or none.
func TestMyDeploymentRules(t *testing.T) {
	spec := func(change string, n, surge, unavailable int) string {
		return fmt.Sprintf("%s MyDeployment m u {metadata: {generation: %d}, spec: {replicas: %d, strategy: {maxSurge: %d, maxUnavailable: %d}}}", change, n, n, surge, unavailable)
	}
	const owner = `ownerReferences: [{apiVersion: apps.example.com/v1, kind: MyDeployment, name: m, uid: u, controller: true}]`
	pod := func(change, name, state string) string {
		text := map[string]string{"new": "", "ready": `, status: {conditions: [{type: Ready, status: "True"}]}`,
			"deleting": `, status: {conditions: [{type: Ready, status: "True"}]}`}[state]
		deleting := ""
		if state == "deleting" {
			deleting = `, deletionTimestamp: "2026-01-01T00:00:00Z"`
		}
		return fmt.Sprintf("%s Pod m-%s %s {metadata: {%s%s}%s}", change, name, name, owner, deleting, text)
	}
	two := []string{spec("ADDED", 2, 1, 0), pod("ADDED", "a", "new"), pod("ADDED", "b", "new"), pod("MODIFIED", "a", "ready"), pod("MODIFIED", "b", "ready")}
	// Other clients take pod a and give it back, while the operator creates c to replace it.
	given := append([]string{spec("ADDED", 2, 0, 1)}, append(two[1:], "MODIFIED Pod m-a a {metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: x, controller: true}]}}",
		pod("MODIFIED", "a", "ready"))...)
	orphan := "ADDED Pod m-o o {metadata: {labels: {a: b}}}"
	for name, test := range map[string]struct {
		lines   []string
		deletes string // UIDs of what the operator deletes
		adopts  string // the same of what it makes its own
		want    string
	}{
		"as many as may be":        {append(two, pod("ADDED", "c", "new")), "", "", ""},
		"one too many":             {append(two, pod("ADDED", "c", "new"), pod("ADDED", "d", "new")), "", "", "pod m-d is created beside 3, most are 3"},
		"beside a terminating one": {append(two, pod("ADDED", "c", "new"), pod("MODIFIED", "a", "deleting"), pod("ADDED", "d", "new")), "", "", "pod m-d is created beside 3, most are 3"},
		"when that is gone":        {append(two, pod("ADDED", "c", "new"), pod("MODIFIED", "a", "deleting"), pod("DELETED", "a", "deleting"), pod("ADDED", "d", "new")), "", "", ""},
		"just after scaling":       {append(two, spec("MODIFIED", 0, 1, 0), pod("ADDED", "c", "new")), "", "", ""},
		"too few":                  {append(two, pod("MODIFIED", "a", "deleting")), "a", "", "pod m-a is deleted, which leaves 1 available, least are 2"},
		"too few by somebody":      {append(two, pod("MODIFIED", "a", "deleting")), "", "", ""},
		"one that is not ready":    {append(two, pod("ADDED", "c", "new"), pod("DELETED", "c", "new")), "c", "", ""},
		"when there is another":    {append(two, pod("ADDED", "c", "new"), pod("MODIFIED", "c", "ready"), pod("MODIFIED", "a", "deleting"), pod("DELETED", "a", "deleting")), "a", "", ""},
		"scaled down":              {append(two, spec("MODIFIED", 1, 1, 0), pod("MODIFIED", "a", "deleting")), "a", "", ""},
		"given back":               {given, "", "", ""},
		"given back beside others": {append([]string{spec("ADDED", 2, 0, 1)}, append(two[1:], "MODIFIED Pod m-a a {metadata: {labels: {a: b}}}", pod("ADDED", "c", "new"), pod("MODIFIED", "a", "ready"))...), "", "", ""},
		"given back just before":   {append(slices.Clone(given), pod("ADDED", "c", "new")), "", "", ""},
		"given back long before":   {append(slices.Clone(given), pod("MODIFIED", "b", "ready"), pod("ADDED", "c", "new")), "", "", "pod m-c is created beside 2, most are 2"},
		"adopted":                  {append(two, orphan, pod("MODIFIED", "o", "new")), "", "o", ""},
		"an orphan is deleted":     {append(two, orphan, "DELETED Pod m-o o {metadata: {labels: {a: b}}}"), "o", "", "delete pods m-o, which nobody controls"},
	} {
		t.Run(name, func(t *testing.T) {
			run := recordedPods(t, test.lines...)
			var journal []proxy.Entry
			for i, line := range test.lines {
				if words := strings.Fields(line); words[0] == "ADDED" && words[1] == "Pod" && words[2] != "m-o" {
					journal = append(journal, proxy.Entry{Began: time.Unix(int64(i+1), 0), Forwarded: true, Code: 201, Body: []byte(`{"metadata":{"uid":"` + words[3] + `"}}`),
						Request: proxy.Request{Verb: "create", Resource: "pods", Namespace: "ns", Name: words[2]}})
				}
			}
			for _, uid := range strings.Fields(test.deletes) {
				e := deletes("pods", uid)
				e.Namespace, e.Name = "ns", "m-"+uid
				journal = append(journal, e)
			}
			for _, uid := range strings.Fields(test.adopts) {
				journal = append(journal, proxy.Entry{Began: time.Unix(int64(len(test.lines)-1), 0), Forwarded: true, Code: 200, Request: proxy.Request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "m-" + uid,
					Body: []byte(`{"metadata":{"uid":"` + uid + `","ownerReferences":[{"uid":"u","controller":true}]}}`)}})
			}
			breaks(t, test.want, myDeployments(), run, journal, nil)
			rules := myDeployments().Rules
			if rules.Adopts = false; test.adopts != "" && len(oracle.Judge(rules, run, journal, nil, oracle.Observe(rules, run, journal), oracle.Limits{})) == 0 {
				t.Error("an operator that does not adopt may do so")
			}
		})
	}
}

// TestMyDeploymentSettled: it is complete, or stalled, for the current spec.
func TestMyDeploymentSettled(t *testing.T) {
	for text, want := range map[string]bool{
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Progressing, status: "True", reason: Complete}]}}`:    true,
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True"}]}}`:                          true,
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Progressing, status: "True", reason: Complete}]}}`:    false,
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Progressing, status: "True", reason: Progressing}]}}`: false,
		`{metadata: {generation: 2}}`: false,
	} {
		if got := myDeploymentSettled(recordedPods(t, "ADDED MyDeployment m u "+text).View().Job); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

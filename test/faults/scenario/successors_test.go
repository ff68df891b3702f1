package scenario

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
)

// versionsOf a run, 600 ms apart: each line is "TYPE KIND NAME UID" and more in YAML.
func versionsOf(t *testing.T, resources map[string]schema.GroupVersionResource, lines []string) (versions []history.Version) {
	t.Helper()
	for i, line := range lines {
		words := strings.SplitN(line, " ", 5)
		versions = append(versions, history.Version{At: time.UnixMilli(int64(600 * i)), Type: watch.EventType(words[0]), Resource: resources[words[1]], Object: object(t, "ns", words[2], i+1, words[1], words[3], words[4:])})
	}
	return versions
}

// TestSuccessors: a Deployment goes only when another one of the Foo exists, and a task when there are as many others as the set
// asks for.
func TestSuccessors(t *testing.T) {
	const (
		foo   = " Foo f u {spec: {}}"
		going = ` Foo f u {metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`
		set   = " FooBarSet f u {spec: {count: 1}}"
		wrong = ` FooBarSet f u {spec: {count: "1"}}`
		mine  = ` {metadata: {ownerReferences: [{uid: u, controller: true}]}}`
		a, b  = " Deployment f-a a" + mine, " Deployment f-b b" + mine
		x, y  = " FooBarTask f-x x" + mine, " FooBarTask f-y y" + mine
	)
	resources := map[string]schema.GroupVersionResource{"Foo": foos().Resource, "Deployment": deployments(), "FooBarSet": fooBarSets().Resource, "FooBarTask": fooBarResource("foobartasks")}
	for name, test := range map[string]struct {
		operator *Operator
		lines    []string
		by       string // UIDs of what the operator deletes
		want     string
	}{
		"another Deployment":       {foos(), []string{"ADDED" + foo, "ADDED" + a, "ADDED" + b, "DELETED" + a}, "a", ""},
		"no other Deployment":      {foos(), []string{"ADDED" + foo, "ADDED" + a, "DELETED" + a}, "a", "Deployment f-a is deleted while there are only 0 others"},
		"one of somebody else":     {foos(), []string{"ADDED" + foo, "ADDED" + a, "ADDED Deployment f-b b {}", "DELETED" + a}, "a", "Deployment f-a is deleted while there are only 0 others"},
		"taken a moment ago":       {foos(), []string{"ADDED" + foo, "ADDED" + a, "ADDED" + b, "MODIFIED Deployment f-b b {}", "DELETED" + a}, "a", ""},
		"taken before":             {foos(), []string{"ADDED" + foo, "ADDED" + a, "ADDED" + b, "MODIFIED Deployment f-b b {}", "MODIFIED" + foo, "DELETED" + a}, "a", "Deployment f-a is deleted while there are only 0 others"},
		"deleted by somebody":      {foos(), []string{"ADDED" + foo, "ADDED" + a, "DELETED" + a}, "", ""},
		"the Foo is being deleted": {foos(), []string{"ADDED" + foo, "ADDED" + a, "MODIFIED" + going, "DELETED" + a}, "a", ""},
		"the Foo is gone":          {foos(), []string{"ADDED" + foo, "ADDED" + a, "DELETED" + foo, "DELETED" + a}, "a", ""},
		"enough tasks":             {fooBarSets(), []string{"ADDED" + set, "ADDED" + x, "ADDED" + y, "DELETED" + x}, "x", ""},
		"too few tasks":            {fooBarSets(), []string{"ADDED" + set, "ADDED" + x, "ADDED" + y, "DELETED" + x, "DELETED" + y}, "x y", "FooBarTask f-y is deleted while there are only 0 others"},
		"of a malformed set":       {fooBarSets(), []string{"ADDED" + wrong, "ADDED" + x, "ADDED" + y, "DELETED" + x}, "x", "FooBarTask f-x is deleted while there are only 1 others"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := test.operator.Rules
			run := history.Of(history.Subject{Resource: test.operator.Resource, Namespace: "ns", Name: "f"}, versionsOf(t, resources, test.lines)...)
			var journal []proxy.Entry
			for _, uid := range strings.Fields(test.by) {
				resource := map[bool]string{true: "deployments", false: "foobartasks"}[test.operator.Name == "foo"]
				journal = append(journal, proxy.Entry{Forwarded: true, Code: 200, Request: proxy.Request{Verb: "delete", Resource: resource, Body: []byte(`{"preconditions":{"uid":"` + uid + `"}}`)}})
			}
			var broken []string
			for _, v := range oracle.Judge(rules, run, journal, nil, oracle.Observe(rules, run, journal), oracle.Limits{}) {
				broken = append(broken, v.Text)
			}
			got := strings.Join(broken, "; ")
			if test.want == "" && got != "" || test.want != "" && !strings.HasPrefix(got, test.want) || len(broken) > 1 {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

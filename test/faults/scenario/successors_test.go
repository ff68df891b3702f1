package scenario

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// versionsOf returns the versions of a run, that far apart, or all at the zero time: each line is "TYPE KIND NAME UID" and more
// in YAML. The namespace is ns unless it precedes the name.
func versionsOf(t *testing.T, apart time.Duration, resources map[string]schema.GroupVersionResource, lines []string) (versions []history.Version) {
	t.Helper()
	for i, line := range lines {
		words := strings.SplitN(line, " ", 5)
		namespace, name, found := strings.Cut(words[2], "/")
		if !found {
			namespace, name = "ns", namespace
		}
		if resources[words[1]].Empty() {
			t.Fatalf("what is a %s?", words[1])
		}
		v := history.Version{Type: watch.EventType(words[0]), Resource: resources[words[1]], Object: object(t, namespace, name, i+1, words[1], words[3], words[4:])}
		if apart > 0 {
			v.At = time.Unix(0, 0).Add(time.Duration(i+1) * apart)
		}
		versions = append(versions, v)
	}
	return versions
}

// TestSuccessors: a Deployment is deleted only if another one of the Foo exists, and a task only if there are as many others as
// the spec of the set has.
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
			run := history.Of(history.Subject{Resource: test.operator.Resource, Namespace: "ns", Name: "f"}, versionsOf(t, 600*time.Millisecond, resources, test.lines)...)
			var journal []proxy.Entry
			for _, uid := range strings.Fields(test.by) {
				resource := map[bool]string{true: "deployments", false: "foobartasks"}[test.operator.Name == "foo"]
				journal = append(journal, deletes(resource, uid))
			}
			breaks(t, test.want, test.operator, run, journal, nil)
		})
	}
}

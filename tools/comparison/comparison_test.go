package comparison

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These patterns match a reflector's errors when it cannot decode what the API server sends. The page for users who write operators
// quotes it.
var (
	watchFails = regexp.MustCompile(`unable to decode watch event: json: cannot unmarshal string into Go struct field FooSpec\.spec\.replicas of type int32`)
	listFails  = regexp.MustCompile(`failed to list \*v1\.Foo: json: cannot unmarshal string into Go struct field FooSpec\.items\.spec\.replicas of type int32`)
	// One cache serves all resources: the error names whichever source is checked first.
	neverSyncs = regexp.MustCompile(`failed to wait for foo caches to sync kind source: \*v1\.(Foo|Deployment): timed out waiting for cache to be synced`)
)

// TestOneMalformedFoo stores a Foo whose replicas is a string, in a namespace of its own, and checks other Foos under each program in
// turn.
func TestOneMalformedFoo(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	r := newRig(t)
	for _, ns := range []string{"first", "second", "third"} {
		r.kubectl(t, "", "create", "namespace", ns)
	}
	began := time.Now()
	t.Run("clientgo", func(t *testing.T) {
		r.typedCache(t, "clientgo", nil, func(p *process) { // it waits forever
			p.awaitLines(listFails, 0, 2)
			if text := p.Text(); !strings.Contains(text, "waiting for the caches") || strings.Contains(text, "the caches have synced") {
				t.Errorf("started beside the malformed Foo, it has read all Foos:\n%s", text)
			}
		})
	})
	t.Run("runtime", func(t *testing.T) {
		r.typedCache(t, "runtime", []string{"--cache-sync-timeout", "3s"}, func(p *process) { // it gives up
			select {
			case <-p.Done():
			case <-time.After(patience):
				t.Fatalf("it goes on:\n%s", p.Tail())
			}
			if text := p.Text(); p.Exit() == nil || len(p.lines(listFails)) == 0 || !neverSyncs.MatchString(text) {
				t.Errorf("it has ended with %v:\n%s", p.Exit(), text)
			}
		})
	})
	t.Run("engine", r.engine)
	t.Logf("the programs took %v", time.Since(began).Round(time.Second))
}

// typedCache tests a program whose cache holds typed objects. stuck checks what it does when it starts while the malformed Foo exists.
func (r *rig) typedCache(t *testing.T, program string, flags []string, stuck func(*process)) {
	file := r.build(t, program)
	healthy, late, odd := "healthy-"+program, "late-"+program, "odd-"+program

	r.foo(t, "first", healthy, "1")
	p := r.start(t, file, flags...)
	r.awaitReplicas(t, "first", healthy, 1)

	// Without a restart: the malformed Foo ends the watch, and all lists that follow.
	r.foo(t, "second", odd, `"3"`)
	p.awaitLines(watchFails, 0, 1)
	p.awaitLines(listFails, 0, 1)
	r.foo(t, "first", healthy, "2")
	r.foo(t, "third", late, "1")
	p.awaitLines(listFails, len(p.lines(listFails)), 1) // it has looked since, and failed
	r.mustHave(t, "first", healthy, 1)
	r.mustHave(t, "third", late, -1)
	// It continues with its old state: the Deployment is created again, with the former replicas.
	r.kubectl(t, "", "-n", "first", "delete", "deployment", healthy)
	r.awaitReplicas(t, "first", healthy, 1)
	p.stop()

	// After a restart: no Foo of any namespace is served.
	r.kubectl(t, "", "-n", "first", "delete", "deployment", healthy)
	p = r.start(t, file, flags...)
	stuck(p)
	r.mustHave(t, "first", healthy, -1)
	r.mustHave(t, "third", late, -1)

	// Until the malformed one is deleted.
	r.kubectl(t, "", "-n", "second", "delete", "foo", odd)
	if !p.Alive() {
		p = r.start(t, file, flags...)
	}
	r.awaitReplicas(t, "first", healthy, 2)
	r.awaitReplicas(t, "third", late, 1)
	p.stop()
}

// engine tests the same Foos under the engine.
func (r *rig) engine(t *testing.T) {
	file := r.build(t, "engine")
	flags := []string{"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}
	r.foo(t, "first", "healthy", "1")
	p := r.start(t, file, flags...)
	r.awaitReplicas(t, "first", "healthy", 1)

	r.foo(t, "second", "odd", `"3"`)
	const sentence = `spec.replicas: found string "3", must be an integer; remove the quotes`
	await(t, "the event", func() (bool, string) {
		events, err := r.typed.CoreV1().Events("second").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=odd"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Type == "Warning" && e.Reason == "FooFailedValidation" && e.Message == sentence {
				return true, ""
			}
		}
		return false, fmt.Sprint(events.Items)
	})
	r.awaitStalled(t, "True", sentence)
	r.foo(t, "first", "healthy", "2")
	r.foo(t, "third", "late", "1")
	r.awaitReplicas(t, "first", "healthy", 2)
	r.awaitReplicas(t, "third", "late", 1)
	p.stop()

	r.kubectl(t, "", "-n", "first", "delete", "deployment", "healthy")
	p = r.start(t, file, flags...)
	r.awaitReplicas(t, "first", "healthy", 2)
	r.mustHave(t, "second", "odd", -1)

	r.foo(t, "second", "odd", "3")
	r.awaitReplicas(t, "second", "odd", 3)
	r.awaitStalled(t, "False", "")
	p.stop()
}

// awaitStalled waits until the malformed Foo has the condition Stalled with this status and message.
func (r *rig) awaitStalled(t *testing.T, status, says string) {
	t.Helper()
	await(t, "the condition Stalled="+status, func() (bool, string) {
		out := r.kubectl(t, "", "-n", "second", "get", "foo", "odd", "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")].status} {.status.conditions[?(@.type=="Stalled")].message}`)
		return strings.HasPrefix(out, status+" ") && strings.Contains(out, says), out
	})
}

package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/bench/measure"
)

// TestCostOfManyObjects measures each operator of examples/operators with many objects: STOIC_OBJECTS of them (make
// bench-operators has 10,000), and 100 without. docs/performance.md has the budgets and what was measured.
func TestCostOfManyObjects(t *testing.T) {
	b := budget{objects: 100, quiet: 5 * time.Second, memory: 80, ready: patience}
	if text := os.Getenv("STOIC_OBJECTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		b.objects = n
		b.quiet = time.Minute
		b.memory = 120
		b.ready = 15 * time.Second
	}
	for _, o := range exampleOperators() {
		t.Run(o.folder, func(t *testing.T) {
			if os.Getenv("STOIC_OBJECTS") == "" {
				t.Parallel() // it mostly waits
			}
			b.measure(t, o)
		})
	}
}

// budget of an operator that serves so many objects.
type budget struct {
	objects int
	quiet   time.Duration // it is watched for that long when it has nothing to do
	memory  int64         // MB of resident memory, at any moment
	ready   time.Duration // from the start of a process
}

// lastLook is how long after a process is ready it last checks whether the API server serves its resources: half a minute after
// each watch has begun. It checks again when it renews a watch, after five minutes or more.
const lastLook = 35 * time.Second

func (b budget) measure(t *testing.T, o exampleOperator) {
	size := int(float64(b.objects) * o.share)
	e := installed(t, o, size)
	ns := e.namespace(t, "many")
	p := e.start(t)
	began := time.Now()
	e.create(t, ns, "many", 0, size)
	e.awaitAll(t, ns, size)
	took := time.Since(began).Round(time.Second)
	used := b.check(t, "the process that served them first", p)
	t.Logf("%s: %d objects are served %v after the first one is created, %d MB at most", o.folder, size, took, used.Peak>>20)
	p.stop(t)

	began = time.Now()
	p = e.start(t)
	ready := time.Since(began)
	quietFrom := time.Now().Add(lastLook)
	e.awaitIdle(t, p)
	if b.quiet < lastLook { // it ends before
		quietFrom = time.Now()
	}
	from := int64(0)
	for time.Now().Before(quietFrom.Add(b.quiet)) { // absence cannot be awaited, only watched for a while
		if from == 0 && !time.Now().Before(quietFrom) {
			from = e.audit(t)
		}
		time.Sleep(100 * time.Millisecond)
	}
	requests := slices.DeleteFunc(e.requestsSince(t, from, e.user()), func(q audited) bool { // a busy machine may delay the last look
		return b.quiet < lastLook && q.Verb == "get" && q.ObjectRef.Resource == ""
	})
	for _, q := range requests {
		t.Errorf("a request of an idle operator: %s %s", q.Verb, q.RequestURI)
	}
	used = b.check(t, "the process that found them", p)
	if ready > b.ready {
		t.Errorf("ready after %v, want at most %v", ready, b.ready)
	}
	t.Logf("%s: %d objects, ready after %.1f s, %d MB resident, %d MB at most, %d requests beside its lease in %v", o.folder, size, ready.Seconds(), used.Resident>>20, used.Peak>>20, len(requests), b.quiet)
	for _, c := range o.changes {
		e.change(t, p, ns, "many7", c)
	}
	e.count(t, p, o.created, func() {
		e.create(t, ns, "more", 7, 8)
		e.awaitObject(t, ns, "more7", o.served)
	})
	e.count(t, p, o.deleted, func() {
		e.kubectl(t, nil, "-n", ns, "delete", e.resource.Resource, "many7") // kubectl waits for the deletion
	})
	p.stop(t)
}

// check checks that a process has never used more memory than it may.
func (b budget) check(t *testing.T, which string, p *process) measure.Footprint {
	t.Helper()
	used, err := p.Footprint()
	if err != nil {
		t.Fatal(err)
	}
	if peak := used.Peak >> 20; peak > b.memory {
		t.Errorf("%d objects took %d MB in %s, want at most %d", b.objects, peak, which, b.memory)
	}
	return used
}

// change changes an object, and counts the operator's writes.
func (e *installation) change(t *testing.T, p *process, ns, name string, c change) {
	t.Helper()
	if c.status != "" {
		e.kubectl(t, nil, "-n", ns, "patch", e.resource.Resource, name, "--subresource=status", "--type=merge", "-p", c.status)
		e.awaitIdle(t, p)
	}
	settled := c.settled
	if settled == nil {
		settled = e.served
	}
	e.count(t, p, c, func() {
		e.kubectl(t, nil, "-n", ns, "patch", e.resource.Resource, name, "--type=merge", "-p", c.patch)
		e.awaitObject(t, ns, name, settled)
	})
}

func (e *installation) awaitObject(t *testing.T, ns, name string, settled func(*unstructured.Unstructured) bool) {
	t.Helper()
	await(t, name+" to be settled", func() (bool, string) {
		u := e.read(t, e.resource, ns, name)
		return settled(u), fmt.Sprint(u.Object["status"])
	})
}

// count returns the operator's writes from the start of a change until it is idle.
func (e *installation) count(t *testing.T, p *process, c change, do func()) {
	t.Helper()
	from := e.audit(t)
	do()
	e.awaitIdle(t, p)
	got := map[string]int{}
	for _, q := range writes(e.requestsSince(t, from, e.user())) { // a process reads each object once before it changes anything
		write := strings.TrimSuffix(q.Verb+" "+q.ObjectRef.Resource+"/"+q.ObjectRef.Subresource, "/")
		if q.ResponseStatus.Code >= 300 {
			write += fmt.Sprintf(" answered %d", q.ResponseStatus.Code)
		}
		got[write]++
	}
	t.Logf("%s: %s: %v", e.folder, c.what, got)
	for write, n := range got {
		if n > c.want[write]+c.more[write] {
			t.Errorf("%s: %s: %d times %s, want at most %d", e.folder, c.what, n, write, c.want[write]+c.more[write])
		}
	}
	for write, n := range c.want {
		if got[write] < n {
			t.Errorf("%s: %s: %d times %s, want %d", e.folder, c.what, got[write], write, n)
		}
	}
}

// awaitIdle waits until a process has nothing to do, and has been idle for longer than any delayed write waits: a status with
// only new counts waits five seconds.
func (e *installation) awaitIdle(t *testing.T, p *process) {
	t.Helper()
	since := time.Time{}
	await(t, "nothing to do", func() (bool, string) {
		keys, _ := p.metric(t, "workqueue_depth")
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds")
		events, _ := p.metric(t, strings.ReplaceAll(e.folder, "-", "_")+"_operator_events_backlog")
		switch {
		case keys != 0 || busy != 0 || events != 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > 7*time.Second, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
	})
}

// isRejected: the status says so about the current spec.
func isRejected(u *unstructured.Unstructured) bool { return reports(u, "Stalled", "True InvalidSpec") }

// reports reports whether a status is of the current spec, with a condition such as "True Exists".
func reports(u *unstructured.Unstructured, of, says string) bool {
	is, _ := condition(u, of)
	generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return is == says && generation == u.GetGeneration()
}

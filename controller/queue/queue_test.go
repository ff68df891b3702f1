package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
)

func begun(key string) bool { return strings.Contains(key, "/old") }

func newOrder(starting int) *order {
	return &order{begun: newFair(), fresh: newFair(), isBegun: begun, starting: starting, out: map[string]bool{}}
}

// TestOrder: keys that have begun go before those that have not, which are still not starved.
func TestOrder(t *testing.T) {
	o := newOrder(0)
	for i := range 20 {
		o.Push(fmt.Sprint("a/new", i))
	}
	for i := range 20 {
		o.Push(fmt.Sprint("a/old", i))
	}
	pop := func(n int) string {
		var order []string
		for range n {
			order = append(order, o.Pop())
		}
		return strings.Join(order, " ")
	}
	want := "a/old0 a/old1 a/old2 a/old3 a/old4 a/old5 a/old6 a/old7 a/new0 a/old8 a/old9 a/old10 a/old11 a/old12 a/old13 a/old14 a/old15 a/new1 a/old16"
	if got := pop(19); got != want {
		t.Error(got)
	}
	// Namespaces take turns in both.
	for _, key := range []string{"b/new0", "b/new1", "b/old0"} {
		o.Push(key)
	}
	if got, want := pop(8), "a/old17 b/old0 a/old18 a/old19 a/new2 b/new0 a/new3 b/new1"; got != want {
		t.Error(got)
	}
	for o.Len() > 0 {
		o.Pop()
	}
	for _, f := range []*fair{o.begun, o.fresh} {
		if len(f.lanes)+len(f.turns)+len(f.keys)+f.count != 0 {
			t.Errorf("left over: %v %v", f.lanes, f.turns)
		}
	}
	if len(o.out) != 0 {
		t.Errorf("remembers %v, which it does not bound", o.out)
	}
}

// TestShutDownWithKeysThatMayNotBegin: workers end although keys wait.
func TestShutDownWithKeysThatMayNotBegin(t *testing.T) {
	q := New(Options{Name: "q", Begun: begun, Starting: 1})
	q.Add("a/new0")
	q.Add("a/new1")
	q.Get()
	if n := q.Len(); n != 1 {
		t.Errorf("%d keys wait", n)
	}
	q.ShutDown()
	if key, stopped := q.Get(); !stopped {
		t.Errorf("got %s", key)
	}
}

// TestNothingIsLost: whatever is added, handed out and done in whatever order, each key is handed out, none twice at the same time, and
// never more that have not begun than allowed. A worker that finishes asks again, so no key is left waiting.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		starting := rapid.IntRange(0, 3).Draw(t, "starting")
		workers := rapid.IntRange(max(starting, 1), 5).Draw(t, "workers")
		q := New(Options{Name: "q", Begun: begun, Starting: starting})
		defer q.ShutDown()
		inner := q.(*bounded).order
		wants, out := map[string]bool{}, []string{}
		get := func() {
			for len(out) < workers && inner.Len() > 0 {
				key, _ := q.Get()
				if !wants[key] || slices.Contains(out, key) {
					t.Fatalf("%s is handed out; wanted %v, out %v", key, wants, out)
				}
				delete(wants, key)
				out = append(out, key)
			}
			fresh := 0
			for _, key := range out {
				if !begun(key) {
					fresh++
				}
			}
			if starting > 0 && fresh > starting {
				t.Fatalf("%d begin at the same time: %v", fresh, out)
			}
		}
		done := func(i int) {
			key := out[i]
			out = slices.Delete(out, i, i+1)
			q.Done(key)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(out) > 0 && rapid.Bool().Draw(t, "done") {
				done(rapid.IntRange(0, len(out)-1).Draw(t, "which"))
			} else {
				key := rapid.SampledFrom([]string{"a/new0", "a/new1", "b/new0", "b/new1", "a/old0", "a/old1", "b/old0", "new"}).Draw(t, "key")
				q.Add(key)
				wants[key] = true
			}
			get()
		}
		for len(out) > 0 {
			done(0)
			get()
		}
		if n := q.Len(); n > 0 || len(wants) > 0 {
			t.Fatalf("never handed out: %d, %v", n, wants)
		}
	})
}

var _ workqueue.TypedDelayingInterface[string] = (*bounded)(nil)

func TestFair(t *testing.T) {
	f := newFair()
	for i := range 1000 {
		f.Push(fmt.Sprint("flood/", i))
	}
	f.Push("quiet/a")
	f.Push("quiet/b")
	f.Push("no-namespace")
	var order []string
	for range 6 {
		order = append(order, f.Pop())
	}
	if got := strings.Join(order, " "); got != "flood/0 quiet/a no-namespace flood/1 quiet/b flood/2" {
		t.Error(got)
	}
	for i := 3; f.Len() > 0; i++ {
		if got := f.Pop(); got != fmt.Sprint("flood/", i) {
			t.Fatalf("%s at %d", got, i)
		}
	}
	if len(f.lanes)+len(f.turns)+len(f.keys) != 0 {
		t.Errorf("left over: %v %v", f.lanes, f.turns)
	}
}

// TestFairInFolders: the lanes of a namespace of events take turns, and so do the objects of a lane.
func TestFairInFolders(t *testing.T) {
	f := newFair()
	for _, key := range []string{"a/spec/x/1", "a/spec/x/2", "a/spec/y/1", "a/spec/x/3", "a/past/z/1", "a/lifecycle/v/1", "b/spec/w/1", "/lifecycle/u/1", "c"} {
		f.Push(key)
	}
	var order []string
	for f.Len() > 0 {
		order = append(order, f.Pop())
	}
	if got := strings.Join(order, " "); got != "a/spec/x/1 b/spec/w/1 /lifecycle/u/1 c a/past/z/1 a/lifecycle/v/1 a/spec/y/1 a/spec/x/2 a/spec/x/3" {
		t.Error(got)
	}
	if len(f.lanes)+len(f.turns)+len(f.keys) != 0 {
		t.Errorf("left over: %v %v", f.lanes, f.turns)
	}
}

// TestTicksOfWork: the ticker of the gauges ticks while workers have keys, once after that, and then no more.
func TestTicksOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Name: "test"}).(*bounded)
		defer q.ShutDown()
		ticks := func() (count int) {
			for range 10 { // periods
				time.Sleep(gaugesEvery)
				synctest.Wait()
				for len(q.work.ticks) > 0 { // without metrics nothing else reads them
					<-q.work.ticks
					count++
				}
			}
			return count
		}
		if n := ticks(); n != 0 {
			t.Errorf("%d ticks before there is work", n)
		}
		for range 2 { // times that there is work
			q.Add("ns/a")
			q.Add("ns/b")
			first, _ := q.Get()
			second, _ := q.Get()
			q.Done(first)
			if n := ticks(); n != 10 {
				t.Errorf("%d ticks in ten periods of work", n)
			}
			q.Done(second)
			if n := ticks(); n != 1 {
				t.Errorf("%d ticks after the work, want one, which finds none", n)
			}
		}
	})
}

// TestTicksEndWithTheQueue: a queue that is shut down leaves no timer.
func TestTicksEndWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkTicker()
		w.begin()
		w.Stop()
		time.Sleep(10 * gaugesEvery)
		if len(w.ticks) > 0 {
			t.Error("it ticks after it was stopped")
		}
	})
}

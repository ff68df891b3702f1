package controller

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/apimodel"
)

// TestWhatWasReadAheadIsRemembered: a job is deleted and another of its name is created while the watch of jobs lags, and a reconcile
// reads the second from the API server and creates its children. What it has written is remembered until the cache has reached that
// version: the cache, which still shows the first, does not prove that the second is gone. Found by the fault rig (G9): the process
// created a pod again that it had created. When the cache has reached that version without the second, nothing of it is kept.
func TestWhatWasReadAheadIsRemembered(t *testing.T) {
	for _, survives := range []bool{true, false} {
		s := newAPIServer(t)
		s.put(job("a", 1, `{}`))
		var late atomic.Int64 // what the clock is ahead
		c := newTestController(t, s, func(o *Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		})
		l := c.watchers[0]
		start(t, c)
		eventually(t, "the children", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
		caughtUp(t, s, c)
		uid := func() (found types.UID) {
			s.locked(func() { found = types.UID(apimodel.Get(s.At(jobsPath+"a"), "metadata", "uid").(string)) })
			return found
		}
		knows := func(uid types.UID) bool {
			written, _ := l.store.Written(uid)
			return !written.IsZero()
		}

		first := uid()
		s.locked(func() { s.held["tfjobs"] = true })
		s.phase("a-worker-0", "Running")
		eventually(t, "a status that the cache does not show", func() bool { return s.count("PATCH tfjobs/status a") >= 2 })
		s.locked(func() {
			s.drop(jobsPath + "a")
			o := job("a", 1, `{}`)
			delete(o["metadata"].(map[string]any), "uid")
			s.store(jobsPath+"a", o)
		})
		second := uid()
		if first == second {
			t.Fatal("the second job has the UID of the first")
		}
		collect(s)
		eventually(t, "the second job to have its pod", func() bool {
			late.Add(int64(time.Second))
			l.enqueueAll()
			return slices.Equal(s.names("pods"), []string{"a-worker-0"}) && knows(second)
		})
		l.enqueueAll()
		eventually(t, "rest", func() bool { return l.queue.Len() == 0 && l.idle() })
		if !knows(second) {
			t.Error("what was written of the second job is forgotten while the cache still shows the first")
		}
		if !survives {
			s.locked(func() {
				s.drop(jobsPath + "a")
				s.Compact(s.Version()) // so that the end of the second is never reported: all is listed again
				s.Cut()
			})
			collect(s)
		}
		s.locked(func() { s.held["tfjobs"] = false })
		if survives {
			caughtUp(t, s, c)
			continue
		}
		eventually(t, "nothing of either job to be left", func() bool {
			_, ahead := l.ahead.Load("ns/a")
			return l.store.Len() == 0 && !ahead
		})
	}
}

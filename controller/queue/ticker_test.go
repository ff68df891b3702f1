package queue

import (
	"testing"
	"testing/synctest"
	"time"
)

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

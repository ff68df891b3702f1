package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
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

// lastSet is every metric of a queue. It keeps what the gauges of unfinished work were set to.
type lastSet struct {
	workqueue.MetricsProvider
	value float64
}

func (*lastSet) Inc()            {}
func (*lastSet) Dec()            {}
func (*lastSet) Observe(float64) {}
func (s *lastSet) Set(v float64) { s.value = v }

func (s *lastSet) NewDepthMetric(string) workqueue.GaugeMetric                         { return s }
func (s *lastSet) NewAddsMetric(string) workqueue.CounterMetric                        { return s }
func (s *lastSet) NewLatencyMetric(string) workqueue.HistogramMetric                   { return s }
func (s *lastSet) NewWorkDurationMetric(string) workqueue.HistogramMetric              { return s }
func (s *lastSet) NewRetriesMetric(string) workqueue.CounterMetric                     { return s }
func (s *lastSet) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric { return s }
func (s *lastSet) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return s
}

// TestGaugesOfWork: the gauges rise while a key is worked on, and are 0 at most one period after that.
func TestGaugesOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gauges lastSet
		q := New(Options{Name: "test", Metrics: &gauges})
		defer q.ShutDown()
		q.Add("ns/a")
		key, _ := q.Get()
		time.Sleep(4 * gaugesEvery)
		synctest.Wait()
		if gauges.value < (3 * gaugesEvery).Seconds() {
			t.Errorf("after four periods of work the gauge is %v", gauges.value)
		}
		q.Done(key)
		time.Sleep(gaugesEvery)
		synctest.Wait()
		if gauges.value != 0 {
			t.Errorf("without work the gauge is %v", gauges.value)
		}
	})
}

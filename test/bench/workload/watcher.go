package workload

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stoic/test/bench/wire"
	"stoic/training"
)

// sight has the times at which a watcher observed the states of a job.
type sight struct {
	asked time.Time // when its creation was requested
	pods  int
	want  int // pods
	made  time.Time

	created, running, restarted, ended, gone time.Time
	terminal                                 training.ConditionType
	rejected                                 bool
}

// watcher records when jobs of one namespace, of any kind and with unique names, reach which state. It ignores other jobs.
type watcher struct {
	namespace string
	kinds     []*training.Kind

	mu          sync.Mutex
	jobs        map[string]*sight
	podFailures map[string]time.Time // of pods, by name
	counts      counts
	pods        int // the most seen alive at a time
	alive       int
	moved       time.Time // when anything new was observed
}

// counts counts the jobs that have reached each state.
type counts struct{ asked, made, running, ended, gone, rejected int }

func newWatcher(namespace string, served []*training.Kind) *watcher {
	return &watcher{namespace: namespace, kinds: served, jobs: map[string]*sight{}, podFailures: map[string]time.Time{}, moved: time.Now()}
}

// follow watches until the context ends; it calls synced when all watches are synced.
func (w *watcher) follow(ctx context.Context, api *wire.Client, synced func()) error {
	var ready sync.WaitGroup
	ready.Add(2 + len(w.kinds))
	go func() { ready.Wait(); synced() }()
	group, ctx := errgroup.WithContext(ctx)
	ours := url.Values{"labelSelector": {training.LabelOperator + " in (" + strings.Join(w.controllers(), ",") + ")"}}
	ended := url.Values{"labelSelector": ours["labelSelector"], "fieldSelector": {"status.phase=Failed"}}
	for _, kind := range w.kinds {
		group.Go(func() error {
			return wire.Watch(ctx, api, wire.KindPath(kind, w.namespace), nil, false, func(event string, j *wire.Job) {
				if event == wire.Synced {
					ready.Done()
					return
				}
				w.job(event, j, time.Now())
			})
		})
	}
	group.Go(func() error {
		return wire.Watch(ctx, api, wire.CorePath(w.namespace, "pods"), ours, true, func(event string, p *wire.Object) {
			if event == wire.Synced {
				ready.Done()
				return
			}
			w.pod(event, p, time.Now())
		})
	})
	group.Go(func() error {
		return wire.Watch(ctx, api, wire.CorePath(w.namespace, "pods"), ended, true, func(event string, p *wire.Object) {
			if event == wire.Synced {
				ready.Done()
				return
			}
			w.podFailure(event, p, time.Now())
		})
	})
	return group.Wait()
}

// controllers returns the values of the label by which operators know their pods.
func (w *watcher) controllers() (names []string) {
	for _, kind := range w.kinds {
		names = append(names, kind.Controller)
	}
	return names
}

// ask records that a job is about to be created.
func (w *watcher) ask(name string, pods int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.jobs[name] = &sight{asked: now, want: pods}
	w.counts.asked++
	w.moved = now
}

func (w *watcher) job(event string, j *wire.Job, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.jobs[j.Metadata.Name]
	if s == nil {
		return
	}
	if event == "DELETED" {
		first(&s.gone, now, &w.counts.gone, &w.moved)
		return
	}
	none := 0
	if j.Is(training.Created) {
		first(&s.created, now, &none, &w.moved)
	}
	if j.Is(training.Running) {
		first(&s.running, now, &w.counts.running, &w.moved)
	}
	if j.Is(training.Restarting) {
		first(&s.restarted, now, &none, &w.moved)
	}
	if j.Is(training.Stalled) && !s.rejected {
		s.rejected, w.moved = true, now
		w.counts.rejected++
	}
	for _, terminal := range []training.ConditionType{training.Succeeded, training.Failed} {
		if j.Is(terminal) && !s.rejected {
			first(&s.ended, now, &w.counts.ended, &w.moved)
			s.terminal = terminal
		}
	}
}

// first records the time of what happens for the first time.
func first(at *time.Time, now time.Time, count *int, moved *time.Time) {
	if at.IsZero() {
		*at, *moved = now, now
		*count++
	}
}

func (w *watcher) pod(event string, p *wire.Object, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch event {
	case "ADDED":
		w.alive++
		w.pods = max(w.pods, w.alive)
	case "DELETED":
		w.alive--
		return
	default:
		return
	}
	s := w.jobs[p.Metadata.Labels[training.LabelJob]]
	if s == nil {
		return
	}
	w.moved = now
	if s.pods++; s.pods >= s.want {
		first(&s.made, now, &w.counts.made, &w.moved)
	}
}

// podFailure records that a pod has become Failed, which a watch of failed pods reports as ADDED.
func (w *watcher) podFailure(event string, p *wire.Object, now time.Time) {
	if event != "ADDED" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.podFailures[p.Metadata.Name] = now
}

// progress returns counts, and since when they have not changed.
func (w *watcher) progress() (counts, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts, w.moved
}

// peak returns the most pods that existed at a time.
func (w *watcher) peak() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods
}

// times returns the times from a job's creation request to the state of at, for the jobs that have reached it.
func (w *watcher) times(at func(*sight) time.Time) (all []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.jobs {
		if t := at(s); !t.IsZero() {
			all = append(all, max(t.Sub(s.asked), 0))
		}
	}
	return all
}

// unseen counts the jobs that have ended and were never seen to run.
func (w *watcher) unseen() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.jobs {
		if !s.ended.IsZero() && s.running.IsZero() {
			n++
		}
	}
	return n
}

// forget drops all jobs, so that those before a measurement do not count.
func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.jobs)
	w.counts = counts{}
	w.pods = w.alive
}

// since returns how long after began a job had its pods.
func (w *watcher) since(name string, began time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs[name].made.Sub(began)
}

// failureReported reports whether a pod has been seen to fail and its job to end.
func (w *watcher) failureReported(job, pod string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.podFailures[pod].IsZero() && !w.jobs[job].ended.IsZero()
}

// reportTook returns how long after a pod's failure its job ended.
func (w *watcher) reportTook(job, pod string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.jobs[job].ended.Sub(w.podFailures[pod]), 0)
}

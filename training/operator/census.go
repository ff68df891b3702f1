package operator

import (
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engine "stoic/convert"
	"stoic/training"
)

// census counts the existing jobs by iterating over the caches at each scrape. It keeps no state beside the caches that
// could diverge from them, and changes of jobs need not update it.
type census struct {
	jobs, oldest *prometheus.Desc
	namespace    func(string) string // the label for a namespace, of which there is a bounded number

	mu    sync.Mutex
	kinds []served
	// places is kept between scrapes, so that a scrape allocates nothing for each job.
	places map[place]*tally
}

// served is a kind with its jobs in the cache. Two versions of a kind are two entries with the same framework.
type served struct {
	kind *training.Kind
	all  iter.Seq[*engine.Result]
}

// place holds the labels of a sample, except the state.
type place struct{ namespace, framework string }

// tally holds the counts of the jobs in one place.
type tally struct {
	states [states]int
	oldest int64 // when that of the pending jobs which waits for longest began to wait, in Unix seconds; 0: none is pending
}

// state is the state of a job; each state but unknown is a type of condition.
type state int

const (
	unknown state = iota // there is no condition yet
	created
	running
	restarting
	suspended
	succeeded
	failed
	states
)

// words returns the values of the label state, in the order of the constants.
func words() [states]string {
	return [states]string{"Unknown", string(training.Created), string(training.Running), string(training.Restarting),
		string(training.Suspended), string(training.Succeeded), string(training.Failed)}
}

// stateOf returns the last condition that is True. kubectl shows the same in the column STATE, except for a job that was
// resumed and does not run yet: there kubectl shows Suspended, which is False.
func stateOf(s *training.Status) state {
	for i := len(s.Conditions) - 1; i >= 0; i-- {
		if s.Conditions[i].Status != metav1.ConditionTrue {
			continue
		}
		switch s.Conditions[i].Type {
		case training.Created:
			return created
		case training.Running:
			return running
		case training.Restarting:
			return restarting
		case training.Suspended:
			return suspended
		case training.Succeeded:
			return succeeded
		case training.Failed:
			return failed
		}
	}
	return unknown
}

func newCensus(namespace func(string) string) *census {
	return &census{namespace: namespace, places: map[place]*tally{},
		jobs: prometheus.NewDesc("training_operator_jobs",
			"Jobs that there are, by state: the last condition that is True, or Unknown while there is none. Only the process that leads reports them.",
			[]string{"job_namespace", "framework", "state"}, nil),
		oldest: prometheus.NewDesc("training_operator_oldest_pending_job_timestamp_seconds",
			"Since when the job has been waiting, in Unix time, that has been waiting to run for longest; there is no sample where none waits. Suspended and rejected jobs do not wait.",
			[]string{"job_namespace", "framework"}, nil)}
}

// serve adds a kind whose jobs are counted from now on.
func (c *census) serve(kind *training.Kind, all iter.Seq[*engine.Result]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds = append(c.kinds, served{kind, all})
}

// Describe implements prometheus.Collector.
func (c *census) Describe(out chan<- *prometheus.Desc) {
	out <- c.jobs
	out <- c.oldest
}

// Collect implements prometheus.Collector.
func (c *census) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	names := words()
	for at, t := range c.places {
		for state, n := range t.states {
			if n > 0 {
				out <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(n), at.namespace, at.framework, names[state])
			}
		}
		if t.oldest > 0 {
			out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, float64(t.oldest), at.namespace, at.framework)
		}
	}
}

// count counts all jobs. It removes places that were already empty in the last count.
func (c *census) count() {
	for at, t := range c.places {
		if *t == (tally{}) {
			delete(c.places, at)
		}
		*t = tally{}
	}
	now := time.Now()
	for i := range c.kinds {
		for job := range c.kinds[i].all {
			c.add(c.kinds[i].kind, job, now)
		}
	}
}

func (c *census) add(kind *training.Kind, job *engine.Result, now time.Time) {
	at := place{c.namespace(job.Meta.Namespace), kind.Framework}
	t := c.places[at]
	if t == nil {
		t = &tally{}
		c.places[at] = t
	}
	head, _ := job.Own.(*training.Head)
	if head == nil { // the converter itself failed on it
		t.states[unknown]++
		return
	}
	is := stateOf(&head.Status)
	t.states[is]++
	if is > created || job.Rejection != nil || job.Meta.DeletionTimestamp != nil || head.ManagedBy != "" {
		return
	}
	if since := waitsSince(head, now).Unix(); since > 0 && (t.oldest == 0 || since < t.oldest) {
		t.oldest = since
	}
}

// waitsSince returns when a job was created or resumed. Any client may have written the status, so an implausible time in
// it is ignored: it would hide that the job waits.
func waitsSince(head *training.Head, now time.Time) time.Time {
	began := head.Meta.CreationTimestamp.Time
	resumed := head.Status.StartTime
	if head.Status.Condition(training.Suspended) != nil && resumed != nil && resumed.After(began) && !resumed.After(now) {
		return resumed.Time
	}
	return began
}

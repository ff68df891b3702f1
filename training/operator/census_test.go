package operator

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engine "stoic/convert"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/plan"
)

// inCache returns a job as in the cache, with conditions such as "Created" or "Running=False". It was created at 1000 s.
func inCache(kind *training.Kind, namespace string, conditions ...string) *engine.Result {
	head := &training.Head{Kind: kind}
	head.Meta.Namespace, head.Meta.Name, head.Meta.CreationTimestamp = namespace, "peculiar", metav1.Unix(1000, 0)
	for _, text := range conditions {
		word, status, found := strings.Cut(text, "=")
		if !found {
			status = string(metav1.ConditionTrue)
		}
		head.Status.Conditions = append(head.Status.Conditions, training.Condition{Type: training.ConditionType(word), Status: metav1.ConditionStatus(status)})
	}
	result := &engine.Result{Head: &head.Head, Object: &training.Job{}}
	result.Own = head
	return result
}

// counting returns a census of jobs.
func counting(jobs map[*training.Kind][]*engine.Result) (*Metrics, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for kind, all := range jobs {
		m.census.serve(kind, slices.Values(all))
	}
	return m, registry
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		conditions string
		want       state
		pending    bool
	}{
		{"", unknown, true},
		{"Created", created, true},
		{"Created Running", running, false},
		{"Created Restarting", restarting, false},
		{"Created Running=False Restarting", restarting, false},
		{"Created Suspended", suspended, false},
		{"Created Running=False Suspended", suspended, false},
		{"Created Suspended=False", created, true}, // resumed
		{"Created Running=False Suspended=False", created, true},
		{"Created Suspended=False Running", running, false},
		{"Created Running=False Succeeded", succeeded, false},
		{"Created Running=False Failed", failed, false},
		{"Stalled Failed", failed, false}, // rejected
		{"Stalled", unknown, true},
		{"Wonderful", unknown, true}, // a status can be edited, and a label may not hold what it says
		{"Running Wonderful", running, false},
		{"Running=Unknown", unknown, true},
	} {
		job := inCache(kinds.TFJob(), "team", strings.Fields(c.conditions)...)
		_, registry := counting(map[*training.Kind][]*engine.Result{kinds.TFJob(): {job}})
		want := "# HELP training_operator_jobs x\n# TYPE training_operator_jobs gauge\n" +
			fmt.Sprintf("training_operator_jobs{framework=%q,job_namespace=%q,state=%q} 1\n", "tensorflow", "team", words()[c.want])
		if got := samples(t, registry, "training_operator_jobs"); got != want[strings.LastIndex(want[:len(want)-1], "\n")+1:] {
			t.Errorf("%s: %s", c.conditions, got)
		}
		if got := samples(t, registry, "training_operator_oldest_pending_job_timestamp_seconds") != ""; got != c.pending {
			t.Errorf("%s: pending %v", c.conditions, got)
		}
	}
}

// samples returns the samples of a family, one per line, sorted.
func samples(t *testing.T, registry *prometheus.Registry, family string) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			if f.GetName() == family {
				lines = append(lines, fmt.Sprintf("%s{%s} %v\n", family, strings.Join(labels, ","), m.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestOldestPending checks the sample of the longest-waiting job for each namespace and framework.
func TestOldestPending(t *testing.T) {
	tf, mpi, mpi2 := kinds.TFJob(), kinds.Served()[0], kinds.Served()[0]
	for _, k := range kinds.Served() {
		if k.Framework == "mpi" {
			mpi, mpi2 = mpi2, k
		}
	}
	made := func(kind *training.Kind, at int64, conditions ...string) *engine.Result {
		job := inCache(kind, "team", conditions...)
		job.Meta.CreationTimestamp = metav1.Unix(at, 0)
		return job
	}
	starts := func(job *engine.Result, at int64) *engine.Result {
		start := metav1.Unix(at, 0)
		job.Own.(*training.Head).Status.StartTime = &start
		return job
	}
	rejected, deleting, elsewhere, panicked := made(tf, 1), made(tf, 2), made(tf, 3), made(tf, 4)
	rejected.Object, rejected.Rejection = nil, &schema.Rejection{}
	gone := metav1.Now()
	deleting.Meta.DeletionTimestamp = &gone
	elsewhere.Own.(*training.Head).ManagedBy = training.ManagedByMultiKueue
	panicked.Own = nil
	future := time.Now().Add(time.Hour).Unix()
	_, registry := counting(map[*training.Kind][]*engine.Result{
		tf: {rejected, deleting, elsewhere, panicked, made(tf, 0), made(tf, 50, "Created", "Running"), made(tf, 300, "Created"), made(tf, 200, "Created"), made(tf, 400),
			starts(made(tf, 60, "Created", "Suspended=False"), 250), // resumed at 250
			starts(made(tf, 220, "Created"), 280),                   // accepted late
		},
		mpi:  {starts(made(mpi, 500, "Created", "Suspended=False"), future), starts(made(mpi, 501, "Created", "Suspended=False"), 7)}, // edited
		mpi2: {made(mpi2, 450)},
	})
	want := map[string]int{}
	for _, line := range []string{
		`training_operator_oldest_pending_job_timestamp_seconds{framework="` + mpi2.Framework + `",job_namespace="team"} 450`,
		`training_operator_oldest_pending_job_timestamp_seconds{framework="tensorflow",job_namespace="team"} 200`,
	} {
		want[line]++
	}
	got := map[string]int{}
	for line := range strings.Lines(samples(t, registry, "training_operator_oldest_pending_job_timestamp_seconds")) {
		got[strings.TrimSpace(line)]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSeriesOfJobsAreBounded: the number of series is bounded, whatever namespaces and statuses exist.
func TestSeriesOfJobsAreBounded(t *testing.T) {
	frameworks := map[string]bool{}
	jobs := map[*training.Kind][]*engine.Result{}
	for _, kind := range kinds.Served()[:2] {
		frameworks[kind.Framework] = true
		for i := range mostNamespaces + 10 {
			for _, conditions := range []string{"", "Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed", fmt.Sprint("Odd", i)} {
				jobs[kind] = append(jobs[kind], inCache(kind, fmt.Sprint("run-", i), strings.Fields(conditions)...))
			}
		}
	}
	m, registry := counting(jobs)
	places := (mostNamespaces + 1) * len(frameworks)
	if n, err := testutil.GatherAndCount(registry, "training_operator_jobs"); err != nil || n != places*int(states) {
		t.Errorf("%d series, %v, want %d", n, err, places*int(states))
	}
	if n, err := testutil.GatherAndCount(registry, "training_operator_oldest_pending_job_timestamp_seconds"); err != nil || n != places {
		t.Errorf("%d series, %v, want %d", n, err, places)
	}
	eachLabel(t, registry, func(family, name, value string) {
		if strings.Contains(value, "peculiar") || strings.Contains(value, "Odd") {
			t.Fatalf("%s: label %s=%q", family, name, value)
		}
	})
	// Deleted jobs take no memory.
	for i := range m.census.kinds {
		m.census.kinds[i].all = func(func(*engine.Result) bool) {}
	}
	for range 2 {
		if n, err := testutil.GatherAndCount(registry, "training_operator_jobs"); err != nil || n != 0 {
			t.Errorf("%d series of no jobs, %v", n, err)
		}
	}
	if n := len(m.census.places); n != 0 {
		t.Errorf("%d places are remembered", n)
	}
}

// TestTimesAreObservedOnce: each start and each end is observed once. The golden tests of package plan show when.
func TestTimesAreObservedOnce(t *testing.T) {
	m, registry := counting(nil)
	for _, c := range []schema.Count{{Counter: string(plan.CountStarted), Took: 3 * time.Second}, {Counter: string(plan.CountSucceeded), Took: 2 * time.Hour},
		{Counter: string(plan.CountFailed), Took: time.Minute}, {Counter: string(plan.CountRestarted)}, {Counter: string(plan.CountDeleted)}, {Counter: string(plan.CountCreated)}} {
		m.count(kinds.TFJob(), "team", c)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			h := s.GetHistogram()
			if h == nil {
				continue
			}
			name := f.GetName()
			for _, l := range s.GetLabel() {
				name += " " + l.GetValue()
			}
			if got[name] = h.GetSampleSum(); h.GetSampleCount() != 1 {
				t.Errorf("%s: %d samples", name, h.GetSampleCount())
			}
			if len(h.GetBucket()) < 10 || len(h.GetPositiveSpan()) == 0 || h.GetSchema() == 0 {
				t.Errorf("%s: %d classic buckets, native ones %v of schema %d; it must have both", name, len(h.GetBucket()), h.GetPositiveSpan(), h.GetSchema())
			}
		}
	}
	want := map[string]float64{"training_operator_job_start_latency_seconds tensorflow": 3,
		"training_operator_job_duration_seconds tensorflow succeeded": 7200, "training_operator_job_duration_seconds tensorflow failed": 60}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// manyJobs returns jobs in a hundred namespaces, in all states.
func manyJobs(n int) iter.Seq[*engine.Result] {
	all := make([]*engine.Result, n)
	for i := range all {
		all[i] = inCache(kinds.TFJob(), fmt.Sprint("team-", i%100), append([]string{"Created"}, words()[1+i%6])...)
	}
	return slices.Values(all)
}

// TestScrapeMakesNothingForAJob: the memory that a scrape allocates does not grow with the number of jobs.
func TestScrapeMakesNothingForAJob(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	m.census.serve(kinds.TFJob(), manyJobs(10_000))
	m.census.count() // the labels
	if n := testing.AllocsPerRun(5, m.census.count); n > 10 {
		t.Errorf("%v allocations for 10,000 jobs", n)
	}
}

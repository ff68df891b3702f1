package controller

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/election"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
)

// sampleOf returns the sample of a metric whose labels have these values, in the order of their names; -1 if there is none.
func sampleOf(t *testing.T, c *Controller, name string, labels ...string) float64 {
	t.Helper()
	families, err := c.options.Registry.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && fmt.Sprint(values) == fmt.Sprint(labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

// reconciles returns how many reconciles of jobs have begun.
func (c *Controller) reconciles(t *testing.T) (begun int) {
	t.Helper()
	begun = int(sampleOf(t, c, "controller_runtime_active_workers", "tfjob-controller"))
	for _, result := range []string{"success", "requeue_after", "error"} {
		begun += int(sampleOf(t, c, "controller_runtime_reconcile_total", "tfjob-controller", result))
	}
	return begun
}

// TestReconcilesAreCounted: by result and, if they fail, by class. All series exist before anything has happened, as a rate needs the 0
// before the first 1.
func TestReconcilesAreCounted(t *testing.T) {
	s := newAPIServer(t)
	var answer atomic.Int64 // 0: none of these
	s.refuse = func(verb, resource, _ string) *refusing {
		if code := answer.Load(); verb != http.MethodPost || resource != "pods" || code == 0 {
			return nil
		} else {
			return &refusing{int(code), map[int64]metav1.StatusReason{http.StatusUnprocessableEntity: metav1.StatusReasonInvalid, http.StatusInternalServerError: metav1.StatusReasonInternalError}[code], "no"}
		}
	}
	core, lines := observer.New(zap.InfoLevel)
	c := newTestController(t, s, func(o *Options) { o.Log = zap.New(core) })
	classes := func(class string) float64 {
		return sampleOf(t, c, "training_operator_reconcile_errors_total", class, "TFJob")
	}
	results := func(result string) float64 {
		return sampleOf(t, c, "controller_runtime_reconcile_total", "tfjob-controller", result)
	}
	for _, n := range []float64{classes("refused"), classes("retry"), classes("panic"), results("success"), results("requeue_after"), results("error"),
		sampleOf(t, c, "controller_runtime_reconcile_errors_total", "tfjob-controller"), sampleOf(t, c, "leader_election_master_status", "training-operator"),
		sampleOf(t, c, "training_operator_cached_objects", "TFJob"), sampleOf(t, c, "training_operator_objects_converted_total", "TFJob", "rejected")} {
		if n != 0 {
			t.Errorf("%v at first, want 0", n)
		}
	}
	if n := sampleOf(t, c, "controller_runtime_max_concurrent_reconciles", "tfjob-controller"); n != 2 {
		t.Errorf("%v workers, want 2", n)
	}
	answer.Store(http.StatusUnprocessableEntity)
	stop := start(t, c)
	s.put(job("refused", 1, `{}`))
	server.Await(t, "a refusal", func() bool { return classes("refused") > 0 && results("error") > 0 })
	answer.Store(http.StatusInternalServerError)
	s.put(job("retried", 1, `{}`))
	server.Await(t, "a retry", func() bool { return classes("retry") > 0 })
	answer.Store(0)
	s.put(job("made", 1, `{}`))
	server.Await(t, "a pod, and a wait for it to start", func() (isThere bool) {
		s.Locked(func() { isThere = s.At("/api/v1/namespaces/ns/pods/made-worker-0") != nil })
		return isThere && results("requeue_after") > 0
	})
	s.phase("made-worker-0", "Running")
	server.Await(t, "success, a wait, and all in the cache", func() bool {
		return results("success") > 0 && results("requeue_after") > 0 && sampleOf(t, c, "training_operator_cached_objects", "TFJob") == 3 &&
			sampleOf(t, c, "leader_election_master_status", "training-operator") == 1 && sampleOf(t, c, "training_operator_objects_converted_total", "TFJob", "accepted") >= 3
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	took, sum := sampleOf(t, c, "controller_runtime_reconcile_time_seconds", "tfjob-controller"), results("success")+results("requeue_after")+results("error")
	if failed := sampleOf(t, c, "controller_runtime_reconcile_errors_total", "tfjob-controller"); took != sum || failed != results("error") ||
		failed != classes("refused")+classes("retry")+classes("panic") || sampleOf(t, c, "controller_runtime_active_workers", "tfjob-controller") != 0 {
		t.Errorf("%v reconciles took their time, %v have a result, %v failed; by class %v refused, %v retry", took, sum, failed, classes("refused"), classes("retry"))
	}
	if sampleOf(t, c, "leader_election_master_status", "training-operator") != 0 {
		t.Error("it leads after it has stopped")
	}
	// One line for each transition: the jobs are Created, once, and one of them is Running.
	all := lines.FilterMessage("status").Len()
	if n := lines.FilterMessage("status").Filter(func(e observer.LoggedEntry) bool {
		return strings.HasPrefix(fmt.Sprint(e.ContextMap()["summary"]), string(training.Created))
	}).Len(); n != 3 || all != 4 {
		t.Errorf("%d lines, %d of them of Created, want 4 and 3: %v", all, n, lines.FilterMessage("status").All())
	}
}

// TestStandbyReportsNoJobs: the sum over all processes is the number of jobs.
func TestStandbyReportsNoJobs(t *testing.T) {
	s := newAPIServer(t)
	s.put(job("a", 1, `{}`))
	lease := func(identity string) func(*Options) {
		return func(o *Options) {
			o.Identity, o.Lease = identity, &election.Lease{Namespace: "ns", Name: "one"}
		}
	}
	leader := newTestController(t, s, lease("leader"))
	start(t, leader)
	here := func(c *Controller) float64 { return counted(t, c, "training_operator_jobs") }
	server.Await(t, "the leader to report its job", func() bool { return here(leader) == 1 && counted(t, leader, "leader_election_master_status") == 1 })
	standby := newTestController(t, s, lease("standby"))
	start(t, standby)
	server.Await(t, "the standby to know the job", func() bool { return counted(t, standby, "training_operator_cached_objects") > 0 })
	if n := here(standby); n != 0 || counted(t, standby, "leader_election_master_status") != 0 {
		t.Errorf("the standby reports %v jobs", n)
	}
}

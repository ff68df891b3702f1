package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/cli/cluster"
	"stoic/training"
)

// deadWebhooks are those that training-operator v1.9.4 leaves behind where only its Deployment was deleted.
const deadWebhooks = "testdata/webhooks.yaml"

// TestDeadWebhook: the webhooks of the predecessor are in force and nobody answers for them, while jobs run. What is to be noted at a
// job is refused: the log, a metric and the job's author are told, each job is tried again with growing pauses, and the operator
// stays alive and ready. A kind that has no webhook is not concerned. When the webhooks are deleted all goes on by itself.
func TestDeadWebhook(t *testing.T) {
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	all := slices.DeleteFunc(predecessors(), func(p predecessor) bool { return p.kind.Version != "v1" })
	p := r.operator(t, "")
	for _, one := range all {
		r.namespace(t, one.space())
		one.store(t, r.of(one.kind), "job", false)
	}
	for _, one := range all {
		r.of(one.kind).awaitState(t, one.space(), "job", training.Running)
	}
	r.kubectl(t, nil, "apply", "-f", deadWebhooks)
	r.refusesJobs(t, true)
	for _, one := range all {
		one.end(t, r.of(one.kind), "job")
	}
	for _, one := range all {
		if one.kind.Name == "MPIJob" {
			r.of(one.kind).awaitState(t, one.space(), "job", training.Succeeded)
			continue
		}
		one.webhookFails(t, r.of(one.kind), p)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code := p.Probe(t.Context(), path); code != http.StatusOK {
			t.Errorf("%s answers %d", path, code)
		}
	}
	r.kubectl(t, nil, "delete", "validatingwebhookconfiguration", webhook) // as docs/troubleshooting.md says
	for _, one := range all {
		r.of(one.kind).awaitState(t, one.space(), "job", training.Succeeded)
	}
	if n, _ := p.metric(t, "training_operator_missing_rights_total"); n > 0 {
		t.Errorf("%v rights were missing", n)
	}
}

// webhookFails: what shows that the job's webhook does not answer.
func (p predecessor) webhookFails(t *testing.T, r *rig, operator *process) {
	t.Helper()
	const words = "failed calling webhook"
	await(t, "an event for the author of a "+p.kind.Name, func() (bool, string) {
		all := r.events(t, p.space(), "job")
		return slices.ContainsFunc(all, func(e event) bool { return e.Type == "Warning" && strings.Contains(e.Message, words) }), fmt.Sprint(all)
	})
	if n, found := operator.metric(t, "training_operator_reconcile_errors_total", `class="retry"`, `kind="`+p.kind.Name+`"`); !found || n == 0 {
		t.Errorf("%s: %v reconciles are said to have failed", p.kind.Name, n)
	}
	if !slices.ContainsFunc(strings.Split(operator.Text(), "\n"), func(line string) bool {
		return strings.Contains(line, `"retrying"`) && strings.Contains(line, p.space()+"/job") && strings.Contains(line, words)
	}) {
		t.Errorf("%s: no line of the log has %q:\n%s", p.kind.Name, words, operator.Tail())
	}
	// The back-off begins at 50 ms and doubles. After seven failures it is above three seconds, so it does not loop.
	var tried []time.Time
	await(t, "eight tries to note something at a "+p.kind.Name, func() (bool, string) {
		tried = nil
		for _, q := range writes(r.requestsIn(t, p.space())) {
			if q.ObjectRef.Resource == p.kind.Plural && q.ResponseStatus.Code >= 500 {
				tried = append(tried, q.Received)
			}
		}
		return len(tried) >= 8, fmt.Sprint(len(tried))
	})
	if pause := tried[7].Sub(tried[6]); pause < 2*time.Second {
		t.Errorf("%s: after seven failures the pause is %v", p.kind.Name, pause)
	}
}

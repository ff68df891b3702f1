package controller

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training/kinds"
)

// TestAuthorLearnsOfRefusals: Decide gets what the API server refused to create, with the first answer of its kind, until it is created.
// The user gets one event about it, which counts once.
func TestAuthorLearnsOfRefusals(t *testing.T) {
	s := newAPIServer(t)
	full := s.fullQuota()
	var mu sync.Mutex
	var seen [][]schema.Refusal
	var counts []schema.Count
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob())
		decide := o.Watches[0].Decide
		o.Watches[0].Decide = func(observed schema.Observed) schema.Plan {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, observed.Refused)
			return decide(observed)
		}
		o.Watches[0].Count = func(head *schema.Head, c schema.Count) {
			mu.Lock()
			defer mu.Unlock()
			if c.Counter == schema.CountRefused && head.Meta.Name == "a" {
				counts = append(counts, c)
			}
		}
	})
	start(t, c)
	began := time.Now()
	s.put(job("a", 1, `{}`))
	last := func() []schema.Refusal {
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 {
			return nil
		}
		return seen[len(seen)-1]
	}
	eventually(t, "a decision on the refusal", func() bool { return len(last()) == 1 })
	first := last()[0]
	if first.Resource != schema.Pods() || first.Namespace != "ns" || first.Name != "a-worker-0" || first.Cause != schema.CauseQuota ||
		first.Reason != metav1.StatusReasonForbidden || first.Code != http.StatusForbidden || first.Since.Before(began) || first.Since.After(time.Now()) || first.Message == "" {
		t.Errorf("%+v", first)
	}
	mu.Lock()
	before := len(seen)
	mu.Unlock()
	eventually(t, "further tries", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) > before+2
	})
	if again := last(); len(again) != 1 || !again[0].Since.Equal(first.Since) {
		t.Errorf("refused again: %+v, first %+v", again, first)
	}
	full.Store(false)
	eventually(t, "the pod", func() bool { return slices.Contains(s.names("pods"), "a-worker-0") })
	eventually(t, "a decision without a refusal", func() bool { return len(last()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(counts) != 1 || counts[0].Reason != string(schema.CauseQuota) {
		t.Errorf("counted %+v", counts)
	}
}

// fullQuota makes the server refuse pods while it is true.
func (s *apiServer) fullQuota() *atomic.Bool {
	full := &atomic.Bool{}
	full.Store(true)
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && resource == "pods" && full.Load() {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a-worker-0" is forbidden: exceeded quota: small`}
		}
		return nil
	}
	return full
}

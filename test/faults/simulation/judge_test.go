package simulation

import (
	"net/http"
	"strings"
	"testing"

	"stoic/test/faults/apimodel"
)

// TestJudgeNotices: the judge finds an operator with a defect within a few schedules.
func TestJudgeNotices(t *testing.T) {
	// pretend answers a request of a method and resource without carrying it out.
	pretend := func(method, resource string, code int) func(*request) (apimodel.Answer, bool) {
		return func(q *request) (apimodel.Answer, bool) {
			body := q.Body
			if code == http.StatusOK {
				body = []byte(`{}`)
			}
			return apimodel.Answer{Code: code, Body: body}, q.Method == method && strings.HasSuffix(q.Resource, resource)
		}
	}
	for _, c := range []struct {
		does      string
		intercept func(*request) (apimodel.Answer, bool)
		found     string
	}{
		{"it deletes whatever has the name", func(q *request) (apimodel.Answer, bool) {
			if q.Method == http.MethodDelete {
				q.SetBody([]byte(`{}`))
			}
			return apimodel.Answer{}, false
		}, "without a UID"},
		{"it creates no services", pretend(http.MethodPost, "services", http.StatusCreated), "come to rest"},
		{"it reports nothing", pretend(http.MethodPost, "events", http.StatusCreated), "no event tells"},
		{"it records nothing", pretend(http.MethodPatch, "/status", http.StatusOK), "at rest"},
		{"it deletes nothing", pretend(http.MethodDelete, "", http.StatusOK), "rest"}, // it retries endlessly, or leaves what it should not
	} {
		t.Run(c.does, func(t *testing.T) {
			for seed := range uint64(60) {
				if strings.Contains(strings.Join(run(t, seed+1, c.intercept).Violations, "\n"), c.found) {
					return
				}
			}
			t.Errorf("60 schedules, and nobody noticed that %q", c.found)
		})
	}
}

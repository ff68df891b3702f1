package simulation

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestJudgeNotices: the judge finds an operator with a defect within a few schedules.
func TestJudgeNotices(t *testing.T) {
	rewrite := func(q *request, body []byte) {
		q.http.Body, q.http.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		q.body = body
	}
	for _, c := range []struct {
		does      string
		intercept func(*request) (answer, bool)
		found     string
	}{
		{"it deletes whatever has the name", func(q *request) (answer, bool) {
			if q.method == http.MethodDelete {
				rewrite(q, []byte(`{}`))
			}
			return answer{}, false
		}, "names no UID"},
		{"it makes no services", func(q *request) (answer, bool) {
			return answer{code: http.StatusCreated, body: q.body}, q.method == http.MethodPost && q.resource == "services"
		}, "come to rest"},
		{"it makes no RoleBindings", func(q *request) (answer, bool) {
			return answer{code: http.StatusCreated, body: q.body}, q.method == http.MethodPost && q.resource == "rolebindings"
		}, "rolebindings/j-launcher is missing"},
		{"it tells nothing", func(q *request) (answer, bool) {
			return answer{code: http.StatusCreated, body: q.body}, q.resource == "events"
		}, "no event tells"},
		{"it records nothing", func(q *request) (answer, bool) {
			return answer{code: http.StatusOK, body: []byte(`{}`)}, strings.HasSuffix(q.resource, "/status")
		}, "at rest"},
		{"it deletes nothing", func(q *request) (answer, bool) {
			return answer{code: http.StatusOK, body: []byte(`{}`)}, q.method == http.MethodDelete
		}, "rest"}, // it retries endlessly, or leaves what it should not
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

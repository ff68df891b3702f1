package simulation

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"stoic/test/faults/apimodel"
	"stoic/training/kinds"
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

// TestPosted: what a process has created, it creates again only if a label has hidden it, and until it sees that again.
func TestPosted(t *testing.T) {
	const body = `{"metadata":{"name":"j-worker-0","ownerReferences":[{"controller":true,"uid":"job"}]}}`
	change := func(version int64, uid string, labels map[string]string) apimodel.Change {
		owner := []any{map[string]any{"controller": true, "uid": "job"}}
		return apimodel.Change{Version: version, Resource: "services", Name: "j-worker-0", UID: uid, Labels: labels, Tree: map[string]any{"metadata": map[string]any{"ownerReferences": owner}}}
	}
	labeled := map[string]string{labelOperator: "c"}
	for name, c := range map[string]struct {
		changes []apimodel.Change // of the object that exists
		knows   int64
		code    int
		want    bool
	}{
		"it is there":                     {[]apimodel.Change{change(5, "u", labeled)}, 5, 409, true},
		"it is there, and not known":      {[]apimodel.Change{change(5, "u", labeled)}, 0, 409, true},
		"it is hidden":                    {[]apimodel.Change{change(5, "u", labeled), change(6, "u", nil)}, 6, 409, false},
		"its label is back, and not seen": {[]apimodel.Change{change(5, "u", labeled), change(6, "u", nil), change(7, "u", labeled)}, 6, 409, false},
		"its label is back, and seen":     {[]apimodel.Change{change(5, "u", labeled), change(6, "u", nil), change(7, "u", labeled)}, 7, 409, true},
		"another one":                     {[]apimodel.Change{change(5, "v", labeled)}, 5, 409, false},
		"the answer is another":           {[]apimodel.Change{change(5, "u", labeled)}, 5, 503, false},
	} {
		j := &judge{schedule: &schedule{model: apimodel.New(time.Now), mirror: newMirror(&manifest{kind: kinds.JAXJob()})}}
		for _, change := range c.changes {
			j.mirror.absorb(change, "")
		}
		j.posted(&request{from: &process{made: map[string]string{"services/j-worker-0": "u"}, knows: map[string]int64{"services": c.knows}}, resource: "services", body: []byte(body)}, c.code)
		if got := len(j.Violations) > 0; got != c.want {
			t.Errorf("%s: violated: %v, want %v", name, got, c.want)
		}
	}
}

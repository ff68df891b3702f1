package access

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewer replaces the API server: it knows the tokens "prometheus" and "guest", and "prometheus" may get /metrics.
type reviewer struct {
	mu    sync.Mutex
	fails map[string]int // code, by resource
	asked []string
}

func (v *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	v.asked = append(v.asked, resource)
	if code := v.fails[resource]; code != 0 {
		w.WriteHeader(code)
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch resource {
	case "tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.Unmarshal(body, &review)
		switch name := review.Spec.Token; name {
		case "prometheus", "guest":
			review.Status.Authenticated, review.Status.User = true, authenticationv1.UserInfo{Username: name, UID: "1", Groups: []string{"g"},
				Extra: map[string]authenticationv1.ExtraValue{"pod": {"p"}}}
		default:
			review.Status.Error = "invalid bearer token"
		}
		_ = json.NewEncoder(w).Encode(review)
	case "subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.Unmarshal(body, &review)
		a := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && review.Spec.UID == "1" && len(review.Spec.Groups) == 1 &&
			len(review.Spec.Extra["pod"]) == 1 && a.Path == "/metrics" && a.Verb == "get"
		review.Status.EvaluationError = "some role that a binding names is not there" // is no answer
		_ = json.NewEncoder(w).Encode(review)
	}
}

func (v *reviewer) count() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := map[string]int{}
	for _, resource := range v.asked {
		counts[resource]++
	}
	return counts
}

// guarded returns a handler behind a gate, and the API server that the gate calls.
func guarded(t *testing.T, log *zap.Logger) (get func(method, path, authorization string) *http.Response, api *reviewer, server *httptest.Server) {
	t.Helper()
	api = &reviewer{fails: map[string]int{}}
	server = httptest.NewServer(api)
	t.Cleanup(server.Close)
	gate, err := NewGate(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	handler := gate.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	return func(method, path, authorization string) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, request)
		if body := recorded.Body.String(); (body == "secret") != (recorded.Code == http.StatusOK) || strings.Contains(body, "secret") != (recorded.Code == http.StatusOK) {
			t.Errorf("%s %s with %q: %d, %q", method, path, authorization, recorded.Code, body)
		}
		return recorded.Result()
	}, api, server
}

func TestGate(t *testing.T) {
	get, _, _ := guarded(t, zap.NewNop())
	for name, c := range map[string]struct {
		method, path, authorization string
		want                        int
	}{
		"allowed":                {"GET", "/metrics", "Bearer prometheus", 200},
		"in lower case":          {"GET", "/metrics", "bearer  prometheus ", 200},
		"no token":               {"GET", "/metrics", "", 401},
		"an empty token":         {"GET", "/metrics", "Bearer ", 401},
		"the scheme alone":       {"GET", "/metrics", "Bearer", 401},
		"another scheme":         {"GET", "/metrics", "Basic prometheus", 401},
		"no scheme":              {"GET", "/metrics", "prometheus", 401},
		"an unknown token":       {"GET", "/metrics", "Bearer nobody", 401},
		"no right":               {"GET", "/metrics", "Bearer guest", 403},
		"no right to this path":  {"GET", "/debug/pprof/", "Bearer prometheus", 403},
		"no right for this verb": {"POST", "/metrics", "Bearer prometheus", 403},
	} {
		answer := get(c.method, c.path, c.authorization)
		if answer.StatusCode != c.want || (answer.Header.Get("WWW-Authenticate") == "Bearer") != (c.want == http.StatusUnauthorized) {
			t.Errorf("%s: %s %v, want %d", name, answer.Status, answer.Header, c.want)
		}
	}
}

// TestAnswersAreRemembered: a scraper costs the API server two requests a minute, not two per scrape, and a wrong token one in ten
// seconds.
func TestAnswersAreRemembered(t *testing.T) {
	get, api, _ := guarded(t, zap.NewNop())
	for range 5 {
		get("GET", "/metrics", "Bearer prometheus")
		get("GET", "/metrics", "Bearer guest")
		get("GET", "/metrics", "Bearer nobody")
		get("GET", "/metrics", "")
	}
	if diff := cmp.Diff(map[string]int{"tokenreviews": 3, "subjectaccessreviews": 2}, api.count()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestNoAnswerIsNoLeave: if the API server cannot say whether a scraper may, for whatever reason, the scrape fails and says so. Earlier
// answers still hold for their time, and errors are not remembered.
func TestNoAnswerIsNoLeave(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	get, api, server := guarded(t, zap.New(core))
	for _, fails := range []map[string]int{{"tokenreviews": http.StatusForbidden}, {"subjectaccessreviews": http.StatusInternalServerError}} {
		api.fails = fails
		if answer := get("GET", "/metrics", "Bearer prometheus"); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%v: %s, want 503", fails, answer.Status)
		}
	}
	api.fails = nil
	if answer := get("GET", "/metrics", "Bearer prometheus"); answer.StatusCode != http.StatusOK {
		t.Errorf("when it answers again: %s", answer.Status)
	}
	server.Close()
	for token, want := range map[string]int{"prometheus": http.StatusOK, "guest": http.StatusServiceUnavailable} {
		if answer := get("GET", "/metrics", "Bearer "+token); answer.StatusCode != want {
			t.Errorf("%s while the API server is away: %s, want %d", token, answer.Status, want)
		}
	}
	if lines.Len() != 1 { // any client can cause it, so it is logged once a minute
		t.Errorf("%d log lines: %v", lines.Len(), lines.All())
	}
}

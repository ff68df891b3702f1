package migration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// stub answers as an API server would for widgets.example.com, which were stored as v1alpha1 and are stored as v1 now. What a real API
// server makes of an apply is in test/integration; these tests are about what follows from its answers.
type stub struct {
	mu         sync.Mutex
	objects    []string            // names, in order; the UID is uid-NAME
	answers    map[string][]answer // to applies of an object, one after the other; then it succeeds
	lists      []answer            // to LISTs, one after the other; then they succeed
	reads      map[string]string   // UIDs that a GET finds; "" is none
	crd        map[string]any
	patches    []answer // to patches of the CRD's status
	missing    []string // rights, by verb and resource
	noReview   bool     // reviews of rights are forbidden
	applied    []string // objects, with the UID
	onList     func(s *stub, n int)
	dryRuns    int
	listed     int
	statusSeen []string
}

type answer struct {
	code    int
	reason  metav1.StatusReason
	retry   int
	proceed string // the token of an expired LIST
}

func newStub(objects ...string) *stub {
	return &stub{objects: objects, answers: map[string][]answer{}, reads: map[string]string{}, crd: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com", "uid": "crd", "resourceVersion": "1", "generation": 2},
		"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1alpha1", "served": true, "storage": false}, map[string]any{"name": "v1", "served": true, "storage": true}}},
		"status": map[string]any{"storedVersions": []any{"v1alpha1", "v1"}},
	}}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const widgets = "/apis/example.com/v1/"
	var body map[string]any
	if r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	switch name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
	case strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io/v1/"):
		s.review(w, body)
	case r.Method == http.MethodPatch && name == "status":
		s.patched(w, body)
	case strings.HasPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/"):
		reply(w, s.crd)
	case r.URL.Path == widgets+"widgets":
		s.list(w, r)
	case r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, widgets+"namespaces/ns/widgets/"):
		s.apply(w, r, name, body)
	case strings.HasPrefix(r.URL.Path, widgets+"namespaces/ns/widgets/") && s.reads[name] != "":
		reply(w, widget(name, s.reads[name]))
	default:
		answer{code: 404, reason: metav1.StatusReasonNotFound}.write(w)
	}
}

func (s *stub) review(w http.ResponseWriter, body map[string]any) {
	if s.noReview {
		answer{code: 403, reason: metav1.StatusReasonForbidden}.write(w)
		return
	}
	right, _ := body["spec"].(map[string]any)["resourceAttributes"].(map[string]any)
	body["status"] = map[string]any{"allowed": !slices.Contains(s.missing, fmt.Sprint(right["verb"], " ", right["resource"]))}
	reply(w, body)
}

func (s *stub) patched(w http.ResponseWriter, body map[string]any) {
	if len(s.patches) > 0 {
		first := s.patches[0]
		if s.patches = s.patches[1:]; first.code > 0 {
			first.write(w)
			return
		}
	}
	s.statusSeen = append(s.statusSeen, fmt.Sprint(body["status"], " at ", body["metadata"].(map[string]any)["resourceVersion"]))
	s.crd["status"] = body["status"]
	reply(w, s.crd)
}

func (s *stub) list(w http.ResponseWriter, r *http.Request) {
	s.listed++
	if s.onList != nil {
		s.onList(s, s.listed)
	}
	if len(s.lists) > 0 {
		first := s.lists[0]
		if s.lists = s.lists[1:]; first.code > 0 {
			first.write(w)
			return
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	items, next := []any{}, ""
	for i, name := range s.objects[min(from, len(s.objects)):] {
		if i == limit {
			next = strconv.Itoa(from + i)
			break
		}
		items = append(items, widget(name, "uid-"+name))
	}
	reply(w, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{"continue": next}, "items": items})
}

func (s *stub) apply(w http.ResponseWriter, r *http.Request, name string, body map[string]any) {
	if r.URL.Query().Get("dryRun") == "All" {
		s.dryRuns++
	}
	if queue := s.answers[name]; len(queue) > 0 {
		s.answers[name] = queue[1:]
		queue[0].write(w)
		return
	}
	uid := body["metadata"].(map[string]any)["uid"]
	s.applied = append(s.applied, fmt.Sprint(name, " ", uid))
	reply(w, widget(name, fmt.Sprint(uid)))
}

func widget(name, uid string) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{"namespace": "ns", "name": name, "uid": uid}}
}

func reply(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) } // the client fails if it cannot read it

func (a answer) write(w http.ResponseWriter) {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(a.code), Reason: a.reason, Message: "said the server"}
	status.Continue = a.proceed
	if a.retry > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(a.retry)}
	}
	w.WriteHeader(a.code)
	reply(w, status)
}

var ( // what an API server says
	busy     = answer{code: 429, reason: metav1.StatusReasonTooManyRequests, retry: 7}
	conflict = answer{code: 409, reason: metav1.StatusReasonConflict}
	broken   = answer{code: 500, reason: metav1.StatusReasonInternalError}
	invalid  = answer{code: 422, reason: metav1.StatusReasonInvalid}
	denied   = answer{code: 403}
	missing  = answer{code: 404, reason: metav1.StatusReasonNotFound}
	expired  = answer{code: 410, reason: metav1.StatusReasonExpired}
	went     = answer{code: 410, reason: metav1.StatusReasonExpired, proceed: "2"}
)

func many(a answer, n int) (all []answer) { return slices.Repeat([]answer{a}, n) }

// TestRun: what follows from the answers of an API server.
func TestRun(t *testing.T) {
	three := []string{"a uid-a", "b uid-b", "c uid-c"}
	for name, test := range map[string]struct {
		change  func(*stub, *Migration)
		says    string // in the error; "" is none
		applied []string
		status  []string // what was written into the CRD
		failed  []string
		gone    int
		pauses  []time.Duration
	}{
		"plain":            {nil, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"nothing to do":    {func(s *stub, _ *Migration) { s.stored("v1") }, "", nil, nil, nil, 0, nil},
		"again":            {func(s *stub, m *Migration) { s.stored("v1"); m.Again = true }, "", three, nil, nil, 0, nil},
		"another failed":   {func(s *stub, _ *Migration) { s.stored("v1"); s.migrating("False", "MigrationFailed") }, "", three, nil, nil, 0, nil},
		"another ended":    {func(s *stub, _ *Migration) { s.stored("v1"); s.migrating("False", "MigrationSucceeded") }, "", nil, nil, nil, 0, nil},
		"another runs":     {func(s *stub, _ *Migration) { s.stored("v1"); s.migrating("True", "MigrationFailed") }, "", nil, nil, nil, 0, nil},
		"dry run":          {func(_ *stub, m *Migration) { m.DryRun = true }, "", three, nil, nil, 0, nil},
		"no rights":        {func(s *stub, _ *Migration) { s.missing = []string{"patch widgets", "patch customresourcedefinitions"} }, "the right is missing to patch widgets.example.com, to patch customresourcedefinitions/status.apiextensions.k8s.io, in all namespaces", nil, nil, nil, 0, nil},
		"rights, dry run":  {func(s *stub, m *Migration) { s.missing, m.DryRun = []string{"patch customresourcedefinitions"}, true }, "", three, nil, nil, 0, nil},
		"rights not known": {func(s *stub, _ *Migration) { s.missing, s.noReview = []string{"patch widgets"}, true }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"invalid": {func(s *stub, _ *Migration) { s.answers["b"] = many(invalid, 1) }, "not all objects could be written: 1 of 3",
			[]string{"a uid-a", "c uid-c"}, nil, []string{"b"}, 0, nil},
		"denied by a webhook": {func(s *stub, _ *Migration) {
			s.answers["a"], s.answers["b"], s.answers["c"] = many(denied, 1), many(denied, 1), many(denied, 1)
		},
			"not all objects could be written: 3 of 3", nil, nil, []string{"a", "b", "c"}, 0, nil},
		"busy": {func(s *stub, _ *Migration) { s.answers["b"] = many(busy, 2) }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0,
			[]time.Duration{7 * time.Second, 7 * time.Second}},
		"busy for long": {func(s *stub, _ *Migration) {
			s.answers["b"] = many(answer{code: 429, reason: metav1.StatusReasonTooManyRequests, retry: 3600}, 1)
		}, "", three,
			[]string{"map[storedVersions:[v1]] at 1"}, nil, 0, []time.Duration{30 * time.Second}},
		"broken at times": {func(s *stub, _ *Migration) { s.answers["a"] = many(broken, 4) }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0,
			[]time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}},
		"broken": {func(s *stub, _ *Migration) { s.answers["a"] = many(broken, 9) }, "not all objects could be written: 1 of 3", []string{"b uid-b", "c uid-c"}, nil, []string{"a"}, 0,
			[]time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}},
		"changed meanwhile": {func(s *stub, _ *Migration) { s.answers["b"], s.reads["b"] = many(conflict, 1), "uid-b" }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0,
			[]time.Duration{200 * time.Millisecond}},
		"made again": {func(s *stub, _ *Migration) { s.answers["b"], s.reads["b"] = many(conflict, 1), "uid-new" }, "", []string{"a uid-a", "b uid-new", "c uid-c"},
			[]string{"map[storedVersions:[v1]] at 1"}, nil, 0, []time.Duration{200 * time.Millisecond}},
		"deleted":         {func(s *stub, _ *Migration) { s.answers["b"] = many(conflict, 1) }, "", []string{"a uid-a", "c uid-c"}, []string{"map[storedVersions:[v1]] at 1"}, nil, 1, nil},
		"not found":       {func(s *stub, _ *Migration) { s.answers["b"] = many(missing, 1) }, "", []string{"a uid-a", "c uid-c"}, []string{"map[storedVersions:[v1]] at 1"}, nil, 1, nil},
		"expired":         {func(s *stub, _ *Migration) { s.lists = []answer{{}, expired} }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"expired, on":     {func(s *stub, _ *Migration) { s.lists = []answer{{}, went} }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"expired, always": {func(s *stub, _ *Migration) { s.lists = many(expired, 99) }, "list the widgets.example.com: said the server", nil, nil, nil, 0, nil},
		"unlisted": {func(s *stub, _ *Migration) {
			s.lists = many(answer{code: 403, reason: metav1.StatusReasonForbidden}, 1)
		}, "list the widgets.example.com: said the server", nil, nil, nil, 0, nil},
		"listed badly at the end": {func(s *stub, _ *Migration) { s.lists = []answer{{}, {}, invalid} }, "list the widgets.example.com: said the server", three, nil, nil, 0, nil},
		"more in the second list": {func(s *stub, _ *Migration) {
			s.onList = func(s *stub, n int) {
				if n == 3 {
					s.objects = append(s.objects, "d")
				}
			}
		}, "", append(slices.Clone(three), "d uid-d"), []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"more in each list": {func(s *stub, _ *Migration) {
			s.objects = nil
			s.onList = func(s *stub, n int) { s.objects = []string{fmt.Sprintf("n%d", n)} }
		}, "new widgets.example.com have appeared in each of 5 lists", []string{"n1 uid-n1", "n2 uid-n2", "n3 uid-n3", "n4 uid-n4", "n5 uid-n5"}, nil, nil, 0, nil},
		"the CRD changes": {func(s *stub, _ *Migration) {
			s.onList = func(s *stub, _ int) { s.crd["metadata"].(map[string]any)["generation"] = 3 }
		}, "the CRD was changed meanwhile; run it again", three, nil, nil, 0, nil},
		"the CRD is gone": {func(s *stub, m *Migration) {
			m.CRD = "gadgets.example.com"
			s.crd = map[string]any{"apiVersion": "v1", "kind": "Status", "status": 7}
		}, "read the CRD gadgets.example.com", nil, nil, nil, 0, nil},
		"its status is busy":        {func(s *stub, _ *Migration) { s.patches = many(conflict, 2) }, "", three, []string{"map[storedVersions:[v1]] at 1"}, nil, 0, nil},
		"its status is refused":     {func(s *stub, _ *Migration) { s.patches = many(denied, 1) }, "all objects are written, but status.storedVersions of the CRD is not: ", three, nil, nil, 0, nil},
		"its status is always busy": {func(s *stub, _ *Migration) { s.patches = many(conflict, 9) }, "as it is changed all the time", three, nil, nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub("a", "b", "c")
			m, pauses, _ := against(t, s)
			if test.change != nil {
				test.change(s, m)
			}
			result, err := m.Run(t.Context())
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want %q", err, test.says)
			}
			var failed []string
			for _, f := range result.Failed {
				failed = append(failed, f.Name)
			}
			for _, diff := range []string{cmp.Diff(test.applied, s.applied), cmp.Diff(test.status, s.statusSeen), cmp.Diff(test.failed, failed), cmp.Diff(test.pauses, *pauses)} {
				if diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if result.Gone != test.gone || result.Written != len(test.applied) {
				t.Errorf("%d gone, %d written", result.Gone, result.Written)
			}
			if m.DryRun != (s.dryRuns > 0) {
				t.Errorf("%d dry runs", s.dryRuns)
			}
		})
	}
}

// migrating sets the condition of the CRD about a migration by Kubernetes itself.
func (s *stub) migrating(status, reason string) {
	s.crd["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "StorageMigrating", "status": status, "reason": reason}}
}

func (s *stub) stored(versions ...any) { s.crd["status"] = map[string]any{"storedVersions": versions} }

// against returns a migration against a stub, with two objects in a page. The client's own retries are off: they wait for seconds.
func against(t *testing.T, s *stub) (m *Migration, pauses *[]time.Duration, talk *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	talk, pauses = &bytes.Buffer{}, new([]time.Duration)
	m, err := New(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, "widgets.example.com", "test", talk)
	if err != nil {
		t.Fatal(err)
	}
	m.Page, m.Patience = 2, 0
	m.pause = func(ctx context.Context, d time.Duration) error { *pauses = append(*pauses, d); return ctx.Err() }
	return m, pauses, talk
}

// TestProgress: lines report the progress, and an interruption ends Run immediately, without a write to the CRD.
func TestProgress(t *testing.T) {
	s := newStub("a", "b", "c")
	m, _, talk := against(t, s)
	if _, err := m.Run(t.Context()); err != nil || !strings.Contains(talk.String(), "2 of 3 widgets.example.com ...\n") {
		t.Errorf("%v, %q", err, talk)
	}
	s = newStub("a", "b", "c")
	m, _, _ = against(t, s)
	ctx, stop := context.WithCancel(t.Context())
	s.answers["b"] = many(broken, 1)
	m.pause = func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() }
	result, err := m.Run(ctx)
	if !errors.Is(err, context.Canceled) || result.Written != 1 || len(s.statusSeen) > 0 {
		t.Errorf("%v, %+v, %v", err, result, s.statusSeen)
	}
}

// TestKindOf: objects are listed in the stored version if it is served.
func TestKindOf(t *testing.T) {
	for name, test := range map[string]struct {
		versions []any
		want     string
	}{
		"stored":        {[]any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "v2", "served": true, "storage": true}}, "v2 stored v2"},
		"stored, first": {[]any{map[string]any{"name": "v2", "served": true, "storage": true}, map[string]any{"name": "v1", "served": true}}, "v2 stored v2"},
		"not served":    {[]any{map[string]any{"name": "v2", "storage": true}, map[string]any{"name": "v1", "served": true}}, "v1 stored v2"},
		"none":          {[]any{map[string]any{"name": "v2", "storage": true}}, "serves no version"},
	} {
		s := newStub()
		s.crd["spec"].(map[string]any)["versions"] = test.versions
		m, _, _ := against(t, s)
		crd, err := m.definition(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k, err := kindOf(crd)
		got := k.resource.Version + " stored " + k.stored
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

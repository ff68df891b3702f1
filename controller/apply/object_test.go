package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// TestRecord: the status is written at the version that it was computed from, and is returned as the server kept it.
func TestRecord(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", nil)
	s.keeping(func(o map[string]any) {
		status := o["status"].(map[string]any)
		delete(status, "observedGeneration")
		delete(status, "startTime")
	})
	head, plan := s.head(t, "a"), schema.Plan{Status: statusAt(5, "A")}
	record := func(head *schema.Head, plan schema.Plan) (string, error) {
		at, err := a.record(t.Context(), &schema.Observed{Head: head}, plan)
		return at.version, err
	}
	version, err := record(head, plan)
	now := s.head(t, "a")
	if err != nil || version != now.Meta.ResourceVersion {
		t.Fatal(version, err)
	}
	if a.KeepsGeneration(head) {
		t.Error("the generation is taken for kept")
	}
	if !a.KeepsGeneration(&schema.Head{ObservedGeneration: 1}) {
		t.Error("an object that has a generation does not prove that it is kept")
	}
	if !a.Store.IsOwnEcho(head.Meta.UID, version) {
		t.Error("the version of our own write is not required")
	}
	if _, err := record(head, schema.Plan{Status: statusAt(6, "B")}); ClassOf(err) != Retry {
		t.Errorf("a status computed from an older version: %v", err)
	}
	s.requests()
	if version, err := record(now, plan); err != nil || version != now.Meta.ResourceVersion || len(s.requests()) > 0 {
		t.Errorf("what the server does not keep was written again: %v", err)
	}
	s.keeping(nil)
	if _, err := record(now, schema.Plan{Status: statusAt(6, "B")}); err != nil || !a.KeepsGeneration(now) {
		t.Errorf("error %v; the generation is taken for dropped", err)
	}
	if _, err := record(someHead(), plan); ClassOf(err) != Retry {
		t.Errorf("an object of another version: %v", err)
	}
	missing := someHead()
	missing.Meta.Name = "missing"
	if _, err := record(missing, plan); !errors.Is(err, errUnrecorded) {
		t.Errorf("an object that is gone: %v", err)
	}
}

// TestStatusWithoutGeneration: a status that has no observedGeneration shows nothing of what the API server keeps. After it the
// warnings of another object, whose spec was edited long after its creation, are still reported.
func TestStatusWithoutGeneration(t *testing.T) {
	without := statusAt(5, "A")
	without.ObservedGeneration = 0
	for _, keeps := range []bool{true, false} {
		s := newAPIServer(t)
		a := newTestApplier(t, s, nil)
		if !keeps {
			s.keeping(func(o map[string]any) { delete(o["status"].(map[string]any), "observedGeneration") })
		}
		edited := &schema.Head{Warnings: []schema.Problem{{Code: schema.UnknownField, Path: "spec.oops"}}}
		edited.Meta.Generation = 2
		edited.Meta.CreationTimestamp = metav1.NewTime(a.Now().Add(-24 * time.Hour))
		for _, step := range []struct {
			name   string
			status *widgetStatus
			want   bool
		}{{"none-yet", without, false}, {"with", statusAt(6, "B"), keeps}, {"without", without, keeps}} {
			s.put(widgetsPath+step.name, nil)
			if _, err := a.record(t.Context(), &schema.Observed{Head: s.head(t, step.name)}, schema.Plan{Status: step.status}); err != nil {
				t.Fatal(err)
			}
			if got := a.KeepsGeneration(edited); got != step.want {
				t.Errorf("the API server keeps the generation: %v; after the status %s it is taken to: %v", keeps, step.name, got)
			}
			seen := schema.Observed{Head: edited, Now: a.Now(), KeepsGeneration: a.KeepsGeneration(edited)}
			if events := schema.WarningEvents(seen); (len(events) > 0) != step.want {
				t.Errorf("the API server keeps the generation: %v; after the status %s there are %d events", keeps, step.name, len(events))
			}
		}
	}
}

// TestClusterScoped: an object without a namespace owns one of its own kind and a namespaced pod; each is written at its own path.
func TestClusterScoped(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	wide := widgets()
	wide.Cluster = true
	s.serve(wide)
	const path = "/apis/example.org/v1/widgets/"
	meta := s.put(path+"a", nil)
	gone := s.put(path+"gone", nil)
	head := &schema.Head{Resource: wide, Meta: meta}
	plan := schema.Plan{AddFinalizers: []string{"x"}, Status: statusAt(1, "A"), Annotate: &schema.Annotate{Values: map[string]string{"a": "b"}},
		Delete: []schema.Deletion{{Resource: wide, Name: "gone", UID: gone.UID}},
		Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)},
			{Resource: wide, Name: "c", Body: bodyOf(wide, "c")}}}
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil {
		t.Fatal(err)
	}
	stored := s.object(path + "a")["metadata"].(map[string]any)
	if stored["finalizers"] == nil || stored["annotations"] == nil || s.object(path + "a")["status"] == nil {
		t.Errorf("stored: %v", s.object(path+"a"))
	}
	if s.object(path+"gone") != nil || s.object(path+"c") == nil || s.object(podsPath+"p") == nil {
		t.Error("not all was written at its own path")
	}
}

// widgetStatus has a field of each sort that matters.
type widgetStatus struct {
	StartTime          *metav1.Time      `json:"startTime,omitempty"`
	ObservedGeneration int64             `json:"observedGeneration,omitempty"`
	Conditions         []widgetCondition `json:"conditions,omitempty"`
	Replicas           int64             `json:"replicas"` // always written
	Unclean            bool              `json:"-"`
}

type widgetCondition struct {
	Type           string      `json:"type"`
	Reason         string      `json:"reason,omitempty"`
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
}

func statusAt(sec int64, reason string) *widgetStatus {
	now := metav1.NewTime(time.Unix(sec, 0))
	return &widgetStatus{StartTime: &now, ObservedGeneration: sec, Conditions: []widgetCondition{{Type: "Created", Reason: reason, LastUpdateTime: now}}}
}

// storedAs returns what an API server answers that has stored a status at a version.
func storedAs(version string, status *widgetStatus) stored {
	text, _ := json.Marshal(status)
	return stored{version: version, status: text}
}

// TestLostFields: the fields that a status had when it was written and not when it was stored.
func TestLostFields(t *testing.T) {
	whole := statusAt(1, "A")
	for _, c := range []struct{ name, kept, want string }{
		{"nothing", string(storedAs("1", whole).status), ""},
		{"nothing, and the schema adds a default", `{"startTime": "x", "observedGeneration": 1, "conditions": [{"type": "Created", "reason": "A", "lastUpdateTime": "x", "status": "Unknown"}], "replicas": 0, "more": {}}`, ""},
		{"the generation", `{"startTime": "x", "conditions": [{"type": "Created", "reason": "A", "lastUpdateTime": "x"}], "replicas": 0}`, "status.observedGeneration"},
		{"a member of a list, and a map", `{"startTime": "x", "observedGeneration": 1, "conditions": [{"type": "Created", "lastUpdateTime": null}]}`,
			"status.conditions.lastUpdateTime status.conditions.reason status.replicas"},
		{"a list that is something else", `{"startTime": "x", "observedGeneration": 1, "conditions": "x", "replicas": 0}`, "status.conditions"},
		{"all", ``, "status"},
		{"all, by null", `null`, "status"},
		{"what cannot be read", `{`, ""},
	} {
		if got := strings.Join(lostFields(whole, json.RawMessage(c.kept)), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	many := map[string]int{}
	for i := range 3 * mostLost {
		many[fmt.Sprint(i)] = i
	}
	if n := len(lostFields(many, json.RawMessage(`{}`))); n != mostLost {
		t.Errorf("%d fields are named, want %d", n, mostLost)
	}
}

// TestPrunedIsReportedOnce: one log line until other fields are lost, and a report after each write whether any was.
func TestPrunedIsReportedOnce(t *testing.T) {
	core, lines := observer.New(zap.WarnLevel)
	var reported []bool
	a := New(Options{Log: zap.New(core), Now: time.Now, Pruned: func(lost bool) { reported = append(reported, lost) }})
	for _, fields := range [][]string{nil, {"status.a"}, {"status.a"}, nil, {"status.a"}, {"status.a", "status.b"}} {
		a.notePruned(fields)
	}
	if diff := cmp.Diff([]bool{false, true, true, false, true, true}, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	var named []any
	for _, line := range lines.All() {
		named = append(named, line.ContextMap()["fields"])
	}
	if diff := cmp.Diff([]any{[]any{"status.a"}, []any{"status.a", "status.b"}}, named); diff != "" {
		t.Errorf("lines of the log (-want +got):\n%s", diff)
	}
}

func TestStatusPruning(t *testing.T) {
	p := newStatusPruning()
	at := func(version string, status any) *schema.Head {
		h := &schema.Head{Status: status}
		h.Meta.UID, h.Meta.ResourceVersion = "u", version
		return h
	}
	less := statusAt(1, "") // what the server makes of any reason
	if p.changesNothing(at("5", less), statusAt(1, "A")) {
		t.Error("a write that was never noted is taken to have no effect")
	}
	if !p.note("u", statusAt(1, "A"), storedAs("6", less)) {
		t.Error("what was not kept is taken for kept")
	}
	if !p.changesNothing(at("6", less), statusAt(2, "A")) || !p.changesNothing(at("9", less), statusAt(2, "A")) {
		t.Error("the same facts at another time are taken for new ones: every reconcile would write it")
	}
	if p.changesNothing(at("6", less), statusAt(2, "B")) {
		t.Error("other facts are taken for the same")
	}
	if p.changesNothing(at("7", &widgetStatus{}), statusAt(2, "A")) {
		t.Error("another writer has changed what is stored, and it is never put right")
	}
	noStart := statusAt(2, "A")
	noStart.StartTime = nil
	if p.changesNothing(at("6", less), noStart) {
		t.Error("that there is no start time is no fact")
	}
	if p.note("u", statusAt(2, "B"), storedAs("7", statusAt(2, "B"))) || p.changesNothing(at("7", statusAt(2, "B")), statusAt(3, "A")) {
		t.Error("a status that was pruned once, before another was kept, is not written when it is planned again")
	}
	for name, kept := range map[string]string{"no status": "", "null": "null", "a text": `"x"`} {
		if !p.note("u", statusAt(1, "A"), stored{version: "8", status: json.RawMessage(kept)}) || !p.changesNothing(at("8", &widgetStatus{Unclean: true}), statusAt(2, "A")) {
			t.Errorf("an answer that is no status: %s", name)
		}
	}
	p.forget("u")
	if p.changesNothing(at("6", less), statusAt(1, "A")) {
		t.Error("not forgotten")
	}
	p.note("u", statusAt(1, "A"), storedAs("6", less))
	p.note("v", statusAt(1, "A"), storedAs("6", less))
	p.forgetAll(func(uid types.UID) bool { return uid == "v" })
	if len(p.entries) != 1 || !p.changesNothing(at("6", less), statusAt(1, "A")) {
		t.Errorf("kept of %d objects", len(p.entries))
	}
}

// TestPrunedFieldsThatAreAlwaysWritten: the answer is read in the type that is written, as the converter reads the stored status.
// Otherwise a field that is always written, and that a schema drops, would differ between the two, and each change of the object by
// another client would cause one more write without effect.
func TestPrunedFieldsThatAreAlwaysWritten(t *testing.T) {
	p := newStatusPruning()
	wrote := &widgetStatus{Replicas: 3, Conditions: []widgetCondition{{Type: "Created"}}}
	p.note("u", wrote, stored{version: "6", status: json.RawMessage(`{"conditions":[{}],"addedByADefault":true}`)})
	head := &schema.Head{Status: &widgetStatus{Conditions: []widgetCondition{{}}}}
	head.Meta.UID, head.Meta.ResourceVersion = "u", "9"
	if !p.changesNothing(head, wrote) {
		t.Error("what the server does not keep would be written again")
	}
	if p.note("u", &widgetStatus{}, stored{version: "6", status: json.RawMessage(`{"addedByADefault":true}`)}) {
		t.Error("a field that a schema adds is taken for one that it drops")
	}
}

// TestMeaning: two writings of the same facts mean the same, in any type.
func TestMeaning(t *testing.T) {
	type nested struct {
		Inner any             `json:"inner"`
		Raw   json.RawMessage `json:"raw,omitempty"`
	}
	for name, c := range map[string]struct {
		a, b any
		same bool
	}{
		"nothing":                         {nil, nil, true},
		"nil pointer":                     {(*widgetStatus)(nil), nil, true},
		"null":                            {json.RawMessage("null"), nil, true},
		"nothing and an empty object":     {nil, map[string]any{}, false},
		"a struct and a map":              {statusAt(1, "A"), map[string]any{"startTime": "2020-01-02T03:04:05Z", "replicas": 0, "conditions": []any{map[string]any{"type": "Created", "reason": "A", "lastUpdateTime": "2021-01-02T03:04:05.678+01:00"}}}, true},
		"a time and none":                 {map[string]any{"at": "2020-01-02T03:04:05Z"}, map[string]any{}, false},
		"a time and null":                 {map[string]any{"at": "2020-01-02T03:04:05Z"}, map[string]any{"at": nil}, false},
		"a time and a text":               {map[string]any{"at": "2020-01-02T03:04:05Z"}, map[string]any{"at": "2020-01-02 is a day"}, false},
		"no time, but almost":             {map[string]any{"at": "2020-13-02T03:04:05Z"}, map[string]any{"at": "2020-14-02T03:04:05Z"}, false},
		"a null and nothing":              {map[string]any{"a": nil, "b": 1}, map[string]any{"b": 1}, true},
		"nulls within":                    {nested{Inner: []any{map[string]any{"a": nil}}}, nested{Inner: []any{map[string]any{}}}, true},
		"nulls in a list are items":       {[]any{nil}, []any{}, false},
		"a zero time of a struct":         {widgetCondition{Type: "A"}, map[string]any{"type": "A"}, true},
		"the generation":                  {map[string]any{"observedGeneration": 1}, map[string]any{"observedGeneration": 2}, true},
		"the generation of a condition":   {nested{Inner: map[string]any{"observedGeneration": 1}}, nested{Inner: map[string]any{}}, true},
		"raw JSON":                        {nested{Raw: json.RawMessage(`{ "b":1, "a":2 }`)}, nested{Raw: json.RawMessage(`{"a":2,"b":1}`)}, true},
		"a number and a text":             {map[string]any{"a": 1}, map[string]any{"a": "1"}, false},
		"numbers beyond those of a float": {map[string]any{"a": int64(9007199254740993)}, map[string]any{"a": int64(9007199254740992)}, false},
		"no JSON":                         {func() {}, nil, true},
		"broken JSON":                     {json.RawMessage(`{`), nil, true},
		"order of a list":                 {[]string{"a", "b"}, []string{"b", "a"}, false},
	} {
		if got := string(meaning(c.a)) == string(meaning(c.b)); got != c.same {
			t.Errorf("%s: the same: %v, want %v: %s, %s", name, got, c.same, meaning(c.a), meaning(c.b))
		}
	}
	given := map[string]any{"a": nil, "observedGeneration": 1}
	if meaning(given); len(given) != 2 {
		t.Errorf("the status was changed to %v", given)
	}
}

// TestGenerationIsRecordedUnderPruning: the API server keeps status.observedGeneration and drops another field. The user edits the spec,
// and all else that the status says is the same: clients that wait for the generation would wait forever.
func TestGenerationIsRecordedUnderPruning(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", nil)
	s.keeping(func(o map[string]any) {
		if status, ok := o["status"].(map[string]any); ok {
			delete(status, "startTime") // a field that the older CRD does not have
		}
	})
	if _, err := a.record(t.Context(), &schema.Observed{Head: s.head(t, "a")}, schema.Plan{Status: statusAt(1, "A")}); err != nil {
		t.Fatal(err)
	}
	// The user edits the spec: generation 2, and the facts are the same.
	now, less := s.head(t, "a"), statusAt(1, "A")
	less.StartTime = nil
	now.Status, now.ObservedGeneration, now.Meta.Generation = less, 1, 2
	if _, err := a.record(t.Context(), &schema.Observed{Head: now}, schema.Plan{Status: statusAt(2, "A")}); err != nil {
		t.Fatal(err)
	}
	if got := s.object(widgetsPath + "a")["status"].(map[string]any)["observedGeneration"]; got != int64(2) && got != float64(2) {
		t.Errorf("status.observedGeneration is %v, want 2", got)
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	now.ObservedGeneration = 2
	if _, err := a.record(t.Context(), &schema.Observed{Head: now}, schema.Plan{Status: statusAt(2, "A")}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("what the server does not keep is written again: %d requests", n)
	}
}

// TestFinalizerGoesOnTheWordOfTheServer: what a finalizer guards may be missing only from a cache that lags behind an earlier leader.
// Before a finalizer is removed, the caches are verified once, as before a deletion.
func TestFinalizerGoesOnTheWordOfTheServer(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", map[string]any{"finalizers": []any{"x"}})
	head := s.head(t, "a")
	apply := func(p schema.Plan) time.Duration {
		t.Helper()
		requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, p)
		if err != nil {
			t.Fatal(err)
		}
		return requeue
	}
	if requeue := apply(schema.Plan{RemoveFinalizers: []string{"x"}}); requeue != RequeueNow {
		t.Errorf("decides again in %s, want at once", requeue)
	}
	if got := s.requests(); slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, "PATCH") }) || len(got) != 1 {
		t.Errorf("%v, want one look at the object and no write", got)
	}
	apply(schema.Plan{RemoveFinalizers: []string{"x"}})
	if has := s.head(t, "a").Meta.Finalizers; len(has) > 0 {
		t.Errorf("finalizers %v", has)
	}
	// An object that does not exist is not requested.
	s.requests()
	head = s.head(t, "a")
	a.Store.Forget(head.Meta.UID)
	if apply(schema.Plan{RemoveFinalizers: []string{"x"}}); len(s.requests()) > 0 {
		t.Error("requests for the sake of a finalizer that is not there")
	}
}

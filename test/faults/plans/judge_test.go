package plans

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// aJob returns the subject of these tests.
func aJob() history.Subject { return history.Subject{Resource: scenario.TFJobs(), Name: "j"} }

// at returns a moment of a made-up run, in seconds.
func at(seconds float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func version(when float64, kind watch.EventType, resource schema.GroupVersionResource, name, uid string, fields map[string]any) history.Version {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "uid": uid}}}
	for k, v := range fields {
		u.Object[k] = v
	}
	u.SetName(name)
	u.SetUID("")
	u.Object["metadata"].(map[string]any)["uid"] = uid
	return history.Version{At: at(when), Type: kind, Resource: resource, Object: u}
}

func owned(deleting bool) map[string]any {
	meta := map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "j", "uid": "job", "controller": true}}}
	if deleting {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	return map[string]any{"metadata": meta}
}

// TestInTime: what a timer triggers happens neither before its time nor long after it, or after the start of an operator that was down.
func TestInTime(t *testing.T) {
	failed := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}}
	for name, c := range map[string]struct {
		came, due, started float64
		want               int
	}{
		"at once":                  {10.1, 10, 0, 0},
		"late":                     {13, 10, 0, 1},
		"early":                    {8, 10, 0, 1},
		"soon after the start":     {15, 10, 14, 0},
		"long after the start":     {17, 10, 14, 1},
		"started before it is due": {11, 10, 9, 0},
	} {
		a := &Attempt{notes: map[string]time.Time{"due": at(c.due)}}
		if c.started > 0 {
			a.notes["started"] = at(c.started)
		}
		a.Run = history.Of(aJob(), version(c.came, watch.Modified, scenario.TFJobs(), "j", "job", failed))
		if found := a.inTime(clocks()["deadline"]); len(found) != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
	never := &Attempt{notes: map[string]time.Time{"due": at(1)}, Run: history.Of(aJob())}
	if found := never.inTime(clocks()["deadline"]); len(found) != 1 {
		t.Errorf("never: %v", found)
	}
}

// TestClockwork: when things are due and when they happened is read from objects.
func TestClockwork(t *testing.T) {
	job := version(0, watch.Added, scenario.TFJobs(), "j", "job", map[string]any{"status": map[string]any{
		"startTime": "2026-01-01T00:00:10Z", "completionTime": "2026-01-01T00:00:20Z"}})
	view := history.Of(aJob(), job).View()
	if due, ok := clocks()["deadline"].due(view); !ok || !due.Equal(at(15)) {
		t.Errorf("deadline: %v %v", due, ok)
	}
	if due, ok := clocks()["time-to-live"].due(view); !ok || !due.Equal(at(22)) {
		t.Errorf("time to live: %v %v", due, ok)
	}
	if _, ok := clocks()["exit-code-retry"].due(view); ok {
		t.Error("a pod that is not there is due")
	}
	came, ok := clocks()["exit-code-retry"].came([]history.Version{
		version(1, watch.Added, core("pods"), "j-worker-0", "a", nil), version(2, watch.Modified, core("pods"), "j-worker-0", "a", nil),
		version(3, watch.Added, core("pods"), "j-worker-1", "b", nil), version(4, watch.Added, core("pods"), "j-worker-0", "c", nil)})
	if !ok || !came.Equal(at(4)) {
		t.Errorf("the second pod came at %v, %v", came, ok)
	}
}

// TestGoneAfterDeletion: orphans stay, and everything else is deleted.
func TestGoneAfterDeletion(t *testing.T) {
	training := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}}
	pod := history.Of(aJob(), version(1, watch.Added, core("pods"), "j-worker-0", "a", owned(false))).View()
	if ok, _ := training.gone("Background")(pod); ok {
		t.Error("a pod is there, and everything is gone")
	}
	if ok, _ := training.gone("Orphan")(pod); !ok {
		t.Error("an orphan must go")
	}
}

// TestStaysDead: a finished job stays, unchanged.
func TestStaysDead(t *testing.T) {
	ended := func(how string) history.Version {
		return version(1, watch.Added, scenario.TFJobs(), "j", "job", map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True"}}}})
	}
	for name, c := range map[string]struct {
		run  []history.Version
		want int
	}{
		"as it was": {[]history.Version{ended("Failed")}, 0},
		"otherwise": {[]history.Version{ended("Succeeded")}, 1},
		"gone":      {[]history.Version{ended("Failed"), version(2, watch.Deleted, scenario.TFJobs(), "j", "job", nil)}, 1},
	} {
		a := &Attempt{Run: history.Of(aJob(), c.run...), Track: &proxy.Track{}, Reference: reference{state: "Failed"}}
		if found := staysDead(a); len(found) != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestMadeBefore: a creation of what the job already owns is found; an orphan, or an object of another owner, does not count.
func TestMadeBefore(t *testing.T) {
	request := proxy.Entry{Request: proxy.Request{Verb: "create", Resource: "pods", Name: "j-0", Body: []byte(`{"metadata":{"ownerReferences":[{"uid":"job"}]}}`)}, Began: at(5)}
	for name, c := range map[string]struct {
		run  []history.Version
		want bool
	}{
		"its own":        {[]history.Version{version(1, watch.Added, core("pods"), "j-0", "a", owned(false))}, true},
		"deleted":        {[]history.Version{version(1, watch.Added, core("pods"), "j-0", "a", owned(false)), version(2, watch.Deleted, core("pods"), "j-0", "a", owned(true))}, false},
		"orphaned":       {[]history.Version{version(1, watch.Added, core("pods"), "j-0", "a", owned(false)), version(2, watch.Modified, core("pods"), "j-0", "a", nil)}, false},
		"made later":     {[]history.Version{version(6, watch.Added, core("pods"), "j-0", "a", owned(false))}, false},
		"never there":    {nil, false},
		"of another job": {[]history.Version{version(1, watch.Added, core("services"), "j-0", "a", owned(false))}, false},
	} {
		a := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}, Run: history.Of(aJob(), c.run...)}
		if got := a.madeBefore(request); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// core returns a resource of the core group.
func core(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: plural}
}

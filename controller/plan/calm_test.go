package plan

import (
	"testing"
	"time"

	"stoic/schema"
)

func TestOnlyMore(t *testing.T) {
	type counts = map[string]schema.ReplicaStatus
	for name, c := range map[string]struct {
		old, found counts
		want       bool
	}{
		"nothing":               {counts{"Worker": {}}, counts{"Worker": {}}, true},
		"more run":              {counts{"Worker": {Active: 1}}, counts{"Worker": {Active: 7}}, true},
		"one is done":           {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1, Succeeded: 1}}, true},
		"one is gone":           {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1}}, false},
		"one failed":            {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1, Failed: 1}}, false},
		"one failed, one runs":  {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 2, Failed: 1}}, false},
		"a failure is mended":   {counts{"Worker": {Failed: 1}}, counts{"Worker": {Active: 1}}, false},
		"one is done no more":   {counts{"Worker": {Succeeded: 1}}, counts{"Worker": {Active: 1}}, false},
		"a role is new":         {counts{}, counts{"Worker": {}}, false},
		"another role":          {counts{"PS": {}}, counts{"Worker": {}}, false},
		"a selector":            {counts{"Worker": {}}, counts{"Worker": {Selector: "a=b"}}, false},
		"counts near their end": {counts{"Worker": {Active: 1<<31 - 1, Succeeded: 1<<31 - 1}}, counts{"Worker": {Active: 1, Succeeded: 1<<31 - 1}}, false},
	} {
		if got := onlyMore(c.old, c.found); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestCalm: more replicas that run wait for the last status to be old enough; whatever else is new does not.
func TestCalm(t *testing.T) {
	w := newWorld()
	three := 3
	w.Roles = map[string]roleKnobs{"Worker": {Replicas: &three}}
	start := func(name string) {
		p := w.pods[name]
		p.Phase = "Running"
		w.pods[name] = p
	}
	for _, name := range []string{"", "j-worker-0"} {
		if name != "" {
			start(name)
		}
		if err := w.apply(Make(w.observe())); err != nil {
			t.Fatal(err)
		}
	}
	recorded := w.now
	start("j-worker-1")
	at := func(after time.Duration) Plan {
		o := w.observe()
		o.Recorded, o.Now = recorded, recorded.Add(after)
		return Make(o)
	}
	if p := at(500 * time.Millisecond); p.Status != nil || p.Recheck != calmFor-500*time.Millisecond {
		t.Errorf("after half a second: status %v, recheck in %s", p.Status, p.Recheck)
	}
	if p := at(calmFor); p.Status == nil || p.Status.ReplicaStatuses["Worker"].Active != 2 {
		t.Errorf("when it is calm: status %+v", p.Status)
	}
	if p := at(-time.Second); p.Status == nil {
		t.Error("a clock that went back keeps the status from being written")
	}
	pod := w.pods["j-worker-0"]
	pod.Phase = "Failed"
	w.pods["j-worker-0"] = pod
	if p := at(0); p.Status == nil {
		t.Error("a failure waits")
	}
}

package plan

import (
	"slices"
	"testing"

	"stoic/training"
)

// A replica type that waits for another one gets its pods when all replicas of the other one run or have succeeded.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		pods map[string]string
		want bool
	}{
		"all run":               {map[string]string{"j-worker-1": "Running"}, true},
		"one is done":           {map[string]string{"j-worker-1": "Succeeded"}, true},
		"one waits":             {map[string]string{"j-worker-1": "Pending"}, false},
		"one is missing":        {map[string]string{"j-worker-1": "gone"}, false},
		"one has failed":        {map[string]string{"j-worker-1": "Failed"}, false},
		"one is being deleted":  {map[string]string{"j-worker-1": "Running deleting"}, false},
		"a stopped one is done": {map[string]string{"j-worker-1": "Succeeded deleting"}, false},
		"one too many waits":    {map[string]string{"j-worker-2": "Pending"}, true},
	} {
		w := launched(t, "Running")
		for pod, words := range c.pods {
			w.setPod(t, pod, words)
		}
		p := w.step(t)
		if made := slices.Contains(names(p), "Pod j-launcher"); made != c.want {
			t.Errorf("%s: created %v", name, names(p))
		}
		if w.status.Is(training.Running) || w.status.Terminal() != "" {
			t.Errorf("%s: workers alone make the job %+v", name, w.status.Conditions)
		}
	}
}

// A recorded success counts like an observed one.
func TestOrderOfRecord(t *testing.T) {
	w := launched(t, "Running")
	w.setPod(t, "j-worker-1", "gone")
	w.tamper(training.Ledger{Job: w.meta.UID, Succeeded: map[string]training.Indices{"worker": {{First: 1, Last: 1}}}})
	if p := w.step(t); !slices.Contains(names(p), "Pod j-launcher") {
		t.Errorf("created %v", names(p))
	}
}

// Without replicas of the awaited type nothing waits.
func TestOrderWithoutTheOther(t *testing.T) {
	none := 0
	for name, rtypes := range map[string]map[string]replicaTypeKnobs{
		"not named": {"Chief": {}},
		"none":      {"Chief": {}, "Worker": {Replicas: &none}},
	} {
		w := newCluster()
		w.kind, w.ReplicaTypes = withLauncher(), rtypes
		w.step(t)
		if got := names(w.step(t)); !slices.Equal(got, []string{"Pod j-launcher"}) {
			t.Errorf("%s: created %v", name, got)
		}
	}
}

// A started pod stays, whatever happens to those that it waited for; its successor waits again.
func TestOrderOfSuccessors(t *testing.T) {
	w := launched(t, "Running")
	w.ReplicaTypes["Chief"] = replicaTypeKnobs{Restart: "OnFailure"}
	w.step(t)
	w.setPod(t, "j-launcher", "Running")
	w.setPod(t, "j-worker-0", "gone")
	if p := w.step(t); !slices.Equal(names(p), []string{"Pod j-worker-0"}) || len(p.Delete) > 0 || !w.status.Is(training.Running) {
		t.Errorf("created %v, deleted %v, %v", names(p), p.Delete, w.status.Conditions)
	}
	w.setPod(t, "j-launcher", "Failed")
	for range 3 {
		w.step(t)
	}
	if w.pods["j-launcher"] != nil || w.ledger.Failed["launcher"].Pod == "" {
		t.Errorf("the launcher's successor does not wait: %+v, on record: %+v", w.pods["j-launcher"], w.ledger)
	}
	w.setPod(t, "j-worker-0", "Running")
	if p := w.step(t); !slices.Equal(names(p), []string{"Pod j-launcher"}) {
		t.Errorf("created %v", names(p))
	}
	if got := w.pods["j-launcher"].ConsecutiveFailures; got != 1 {
		t.Errorf("%d failed before it, by its annotation", got)
	}
}

// The running replicas in dependent objects are not updated for each new replica, but once before the waiting ones start.
func TestRunningIsReportedOnce(t *testing.T) {
	w := launched(t, "Pending")
	w.setPod(t, "j-worker-0", "Running")
	if p := w.step(t); len(p.Patch) > 0 {
		t.Errorf("patched %s", p.Patch[0].Body)
	}
	w.setPod(t, "j-worker-1", "Running")
	if p := w.step(t); len(p.Patch) != 1 || !slices.Equal(names(p), []string{"Pod j-launcher"}) {
		t.Errorf("patched %v, created %v", p.Patch, names(p))
	}
	w.setPod(t, "j-worker-1", "gone")
	if p := w.step(t); len(p.Patch) != 1 {
		t.Errorf("a worker is gone, and there is patched %v", p.Patch)
	}
}

// The only replica of an unnumbered type has no index in its name or labels.
func TestUnnumbered(t *testing.T) {
	w := launched(t, "Running")
	d := newDraft(w.observe())
	for name, want := range map[string]string{"j-launcher": "launcher 0", "j-launcher-0": "launcher 0", "j-worker-3": "worker 3", "j-worker": ""} {
		label, index, is := d.replicaOf(name)
		if got := label + " " + string(rune('0'+index)); is && got != want || is != (want != "") {
			t.Errorf("%s: %q, %v", name, got, is)
		}
	}
	for _, name := range []string{"j-launcher", "j-launcher-0", "j-launcher-1"} {
		if _, is := d.orphanIndex(name); is {
			t.Errorf("%s is taken for an orphan", name)
		}
	}
	p := w.step(t)
	body := object(p.Create[0].Body)
	labels := object(object(body["metadata"])["labels"])
	if labels[training.LabelReplicaIndex] != nil || string(labels[training.LabelReplicaType]) != `"launcher"` || string(labels[training.LabelJobRole]) != `"master"` {
		t.Errorf("labels %s", labels)
	}
}

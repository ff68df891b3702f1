package plan

import (
	"slices"
	"testing"
	"time"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestLazyDependents: the ConfigMap of a running launcher is updated together with the status, as a job that is about to end
// needs neither update. The Role is always updated immediately.
func TestLazyDependents(t *testing.T) {
	of := func(p Plan, r schema.Resource) bool {
		return slices.ContainsFunc(p.Patch, func(u Patch) bool { return u.Resource == r })
	}
	three := 3
	for name, c := range map[string]struct {
		pods         map[string]string
		edit         func(*cluster)
		config, role bool // patched before the status is written
		later        bool // the ConfigMap is patched with it
		pending      bool // the status waits, the ConfigMap does not
	}{
		"one is done":                  {pods: map[string]string{"j-worker-1": "Succeeded exit=0"}, later: true},
		"all are done":                 {pods: map[string]string{"j-worker-0": "Succeeded exit=0", "j-worker-1": "Succeeded exit=0", "j-worker-2": "Succeeded exit=0"}, later: true},
		"nothing is new":               {pods: map[string]string{}},
		"one is gone":                  {pods: map[string]string{"j-worker-1": "gone"}, role: true, later: true},
		"one is done and gone":         {pods: map[string]string{"j-worker-0": "Succeeded exit=0", "j-worker-1": "gone"}, role: true, later: true},
		"the hosts are edited by hand": {edit: func(w *cluster) { w.remember("ConfigMap j-config", []byte(`{"data":{"hostfile":"evil"}}`)) }, config: true},
		"the rules are edited by hand": {edit: func(w *cluster) { w.remember("Role j-launcher", []byte(`{"rules":[]}`)) }, role: true},
		"the launcher has no pod yet":  {pods: map[string]string{"j-launcher": "gone", "j-worker-1": "Succeeded exit=0"}, config: true, pending: true},
		"the author asks for more hosts": {edit: func(w *cluster) {
			four := 4
			w.ReplicaTypes["Worker"] = replicaTypeKnobs{Replicas: &four}
			w.meta.Generation++
		}, config: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster()
			w.become(kinds.MPIJob())
			w.ReplicaTypes = map[string]replicaTypeKnobs{"Launcher": {}, "Worker": {Replicas: &three}}
			w.step(t)
			w.step(t)
			for _, pod := range []string{"j-worker-0", "j-worker-1", "j-worker-2"} {
				w.setPod(t, pod, "Running")
			}
			w.step(t)
			w.step(t)
			w.setPod(t, "j-launcher", "Running")
			w.step(t)
			written := w.now
			w.now = w.now.Add(time.Second / 4)
			for pod, words := range c.pods {
				w.setPod(t, pod, words)
			}
			if c.edit != nil {
				c.edit(w)
			}
			o := w.observe()
			o.WrittenAt = written
			p := Make(o)
			checkPlan(t, o, p)
			if config, role := of(p, schema.ConfigMaps()), of(p, training.Roles()); config != c.config || role != c.role {
				t.Errorf("ConfigMap patched: %v, want %v; Role: %v, want %v", config, c.config, role, c.role)
			}
			if waits := c.later || c.pending; p.Pending != waits || waits && (p.Status != nil || p.Requeue == 0) {
				t.Errorf("pending %v, requeue %v, status %v", p.Pending, p.Requeue, p.Status)
			}
			o.Now, o.PendingSince = o.Now.Add(time.Minute), o.Now
			if p := Make(o); c.later && (p.Status == nil || !of(p, schema.ConfigMaps())) {
				t.Errorf("a minute later: status %v, patched %+v", p.Status, p.Patch)
			}
		})
	}
}

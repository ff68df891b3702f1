package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"stoic/convert"
	"stoic/schema"
)

// The kind comes late, goes and comes back with other objects under the same names.
func TestKindComesAndGoes(t *testing.T) {
	s := newAPIServer(t)
	s.absent = true
	c := newTestController(t, s, nil)
	start(t, c)
	l := c.loops[0]
	eventually(t, "readiness without the kind", l.ready)
	s.locked(func() { s.absent = false })
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.locked(func() { s.absent = true; delete(s.objects, jobsPath+"a") })
	eventually(t, "the end of the watch", func() bool { return l.objects.Load() == nil })
	eventually(t, "nothing kept of what is gone", func() bool {
		l.floors.mu.Lock()
		defer l.floors.mu.Unlock()
		return len(l.floors.jobs) == 0
	})
	if got := counted(t, c, "training_operator_kind_served"); got != 0 {
		t.Errorf("served is %v", got)
	}
	s.locked(func() { s.absent = false })
	s.put(job("a", 1, `{}`))
	eventually(t, "the status of the new job", func() bool { st := s.head("a"); return st.Is(schema.Created) })
}

// A kind whose CRD nobody has installed is no reason to leave the others alone.
func TestMissingKindStopsNobodyElse(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, func(o *Options) { o.Watched = Jobs([]*schema.Kind{schema.PyTorchJob(), schema.TFJob()}) }))
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
}

func resultOf(uid, version string) *convert.Result {
	head := &schema.Head{Kind: schema.TFJob(), Meta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: types.UID(uid), ResourceVersion: version}}
	return &convert.Result{Head: head, Job: &schema.Job{Head: head}}
}

// What is known of an object goes with it, in whatever way its end is told.
func TestHandlersForget(t *testing.T) {
	l := newTestController(t, newAPIServer(t), nil).loops[0]
	close(l.elected)
	first, second := resultOf("1", "10"), resultOf("2", "20")
	for name, end := range map[string]func(){
		"deleted":                     func() { l.deleted(first) },
		"deletion missed":             func() { l.deleted(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: first}) },
		"made anew between two lists": func() { l.updated(first, second) },
	} {
		l.floors.raise("1", "10", "", "")
		l.pruned.note("1", statusAt(1, "A"), nil, "10")
		end()
		if len(l.floors.jobs)+len(l.pruned.wrote) > 0 {
			t.Errorf("%s: %v %v are left", name, l.floors.jobs, l.pruned.wrote)
		}
		if l.queue.Len() == 0 {
			t.Errorf("%s: nobody will look at the next job of that name", name)
			continue
		}
		key, _ := l.queue.Get()
		if key != "ns/a" {
			t.Errorf("%s: %q is queued", name, key)
		}
		l.queue.Done(key)
	}
	l.deleted(cache.DeletedFinalStateUnknown{Key: "ns/a"})
	l.added("nonsense")
	l.updated(nil, nil)
	l.updated(first, first)
	l.floors.raise("1", "11", "", "")
	l.updated(first, resultOf("1", "11"))
	if n := l.queue.Len(); n != 0 {
		t.Errorf("%d keys wait after a relist, our own echo and nonsense", n)
	}
}

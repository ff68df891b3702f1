package controller

import (
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training/kinds"
)

// TestReadsAreAwaited: a process that starts decides nothing before it has read what decisions depend on, or knows why it cannot. An
// earlier decision would report, and roll back, what only had not been read yet.
func TestReadsAreAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		refusal *refusing
		why     bool
	}{
		"read":    {},
		"refused": {&refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "no"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.locked(func() {
				s.Serve(apimodel.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true})
			})
			asked, answer := make(chan struct{}), make(chan struct{})
			var once sync.Once
			release := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(release)
			s.refuse = func(verb, resource, _ string) *refusing {
				if verb == http.MethodGet && resource == "configmaps" {
					once.Do(func() { close(asked) })
					<-answer
					return c.refusal
				}
				return nil
			}
			decided := make(chan schema.Children, 100)
			controller := newTestController(t, s, func(o *Options) {
				o.Watches = jobs(o, kinds.TFJob())
				o.Watches[0].Reads = []*Read{{Resource: schema.ConfigMaps()}}
				o.Watches[0].Decide = func(seen Observed) Plan {
					decided <- seen.Read(schema.ConfigMaps())
					return Plan{}
				}
			})
			s.put(job("a", 1, `{}`))
			start(t, controller)
			select {
			case <-asked:
			case <-time.After(patient):
				t.Fatal("the configmaps were not listed")
			}
			eventually(t, "all other resources to be read", func() bool { return controller.Unread() == "configmaps" })
			if len(decided) > 0 {
				t.Fatal("a decision was made before what it depends on was read")
			}
			release()
			if got := <-decided; got.Unknown != c.why || (got.Why != "") != c.why {
				t.Errorf("the first decision sees %+v", got)
			}
			if unread := controller.Unread(); unread != "" {
				t.Errorf("%s is said to be unread", unread)
			}
		})
	}
}

package cache

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

// TestAnotherVersionIsServed: only one of two versions of a resource is watched, as both would see the same objects. The log gives the
// reason once: the other version, or that the API server does not say whether it serves the other version. The model of the API server
// serves one version of a resource, so another resource represents the other version.
func TestAnotherVersionIsServed(t *testing.T) {
	s := newAPIServer(t)
	other := schema.Resource{Group: "example.org", Version: "v1beta1", Plural: "gadgets", Kind: "Gadget"}
	broken := false
	s.locked(func() {
		s.serve(other, true)
		s.fail = func(q server.Request) int {
			if broken && q.URL.Path == "/apis/example.org/v1beta1" {
				return http.StatusServiceUnavailable
			}
			return 0
		}
	})
	source, _ := s.source(t, "")
	core, logged := observer.New(zap.InfoLevel)
	source.Log, source.Unless = zap.New(core), []schema.Resource{other}
	o := NewObjects(source, widgets(), func(*unstructured.Unstructured) *convert.Result { return nil },
		Handlers{Added: func(*convert.Result) {}, StatusServed: func() {}, Replaced: ignoreReplaced})
	o.pause = func(ctx context.Context, _ time.Duration) { pause(ctx, time.Millisecond) }
	o.after = func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { o.Serve(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })

	// A watch may end before the server is asked again, or after.
	ending := []string{"the watch was interrupted", "the API server has stopped serving this kind"}
	says := func(want ...string) {
		t.Helper()
		var got []string
		eventually(t, "the log", func() bool {
			got = nil
			for _, entry := range logged.All() {
				if !slices.Contains(ending, entry.Message) {
					got = append(got, entry.Message)
				}
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Fatalf("logged %q, want %q", got, want)
		}
		logged.TakeAll()
	}
	says("the API server serves another version of this kind, too, and objects are served in that one")
	s.locked(func() { broken = true })
	says("it is not known whether the API server serves this kind; asking again")
	s.locked(func() { broken = false; s.Unserve("gadgets") })
	says("watching")
	s.locked(func() { s.serve(other, true) })
	says("the API server serves another version of this kind, too, and objects are served in that one")
	s.locked(func() { s.Unserve("gadgets") })
	says("watching")
	s.locked(func() { s.Unserve("widgets") })
	says("the API server does not serve this kind; waiting for its CRD")
}

package plans

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
)

// TestBreaks: a plan ends the watches of its own scenario after the write that it names, and bookmarks resume when it is over.
func TestBreaks(t *testing.T) {
	sc := scenario.All()[0]
	all := breaks(sc, reference{writes: 1})
	if names := []string{all[0].Fault, all[1].Fault}; len(all) != 2 || !slices.Equal(names, []string{"after write 1, watches cut, no bookmarks", "after write 1, watches expired, no bookmarks"}) {
		t.Fatalf("plans %q", names)
	}
	for _, p := range all {
		server := reporting(t, 1, 0, func(int) any { return map[string]any{"metadata": map[string]any{"name": "j"}} })
		c, err := sandbox.Open(sandbox.Options{Operator: []string{"none"}, Upstream: server, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		a := &Attempt{Plan: p, Sandbox: c, Track: c.Proxy.Follow("j")}
		if err := a.arrange(a); err != nil {
			t.Fatal(err)
		}
		running, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		over := make(chan struct{})
		go func() { defer close(over); a.during(running, a) }()
		client, err := rest.HTTPClientFor(c.Proxy.Config())
		if err != nil {
			t.Fatal(err)
		}
		watch, err := client.Get(c.Proxy.Config().Host + "/api/v1/pods?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		if err := await(running, "the watch", func() bool { return c.Proxy.Streams().Open("pods") == 1 }); err != nil {
			t.Fatal(err)
		}
		write, err := client.Post(c.Proxy.Config().Host+"/api/v1/namespaces/ns/pods", "application/json", strings.NewReader(`{"metadata":{"name":"j-0"}}`))
		if err != nil || write.StatusCode != http.StatusOK {
			t.Fatalf("the write: %v, %v", write, err)
		}
		write.Body.Close()
		if err := await(running, "the end of the watch", func() bool { return c.Proxy.Streams().Open("pods") == 0 }); err != nil {
			t.Error(err)
		}
		watch.Body.Close()
		if times, _ := a.Track.Fired(); times != 1 || !a.happened() {
			t.Errorf("%s: it struck %d times", p.Fault, times)
		}
		cancel()
		<-over
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// TestProfilesAreServedOnlyWhenAskedFor: they cost, and tell of the process what a scraper need not know.
func TestProfilesAreServedOnlyWhenAskedFor(t *testing.T) {
	for _, profiling := range []bool{false, true} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() {
			stopped <- HTTP(ctx, listener, MetricsHandler(prometheus.NewRegistry(), profiling), zap.NewNop())
		}()
		want := map[string]int{"/metrics": http.StatusOK, "/debug/pprof": http.StatusNotFound}
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol",
			"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1"} {
			want[path] = http.StatusNotFound
			if profiling {
				want[path] = http.StatusOK
			}
		}
		if profiling {
			want["/debug/pprof"] = http.StatusOK // after a redirect
		}
		for path, code := range want {
			response, err := http.Get("http://" + listener.Addr().String() + path)
			if err != nil {
				t.Fatal(err)
			}
			size, err := io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != code || err != nil || code == http.StatusOK && path != "/metrics" && size == 0 {
				t.Errorf("profiling %v, %s: %s, %d bytes, %v, want %d", profiling, path, response.Status, size, err, code)
			}
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestProfilesAreServedOnlyWhenAskedFor: they cost time, and reveal more of the process than a scraper needs.
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

// counted reports when a server asks for a connection.
type counted struct {
	net.Listener
	asked chan struct{}
}

func (c *counted) Accept() (net.Conn, error) {
	c.asked <- struct{}{}
	return c.Listener.Accept()
}

// TestStopsWhateverClientsHold: a client that has connected and sends no request yet, as transports do that open a connection ahead, or
// one that does not read its answer to the end, neither delays a stop beyond the grace period nor makes it fail.
func TestStopsWhateverClientsHold(t *testing.T) {
	asked := make(chan struct{})
	for name, request := range map[string]string{"nothing": "", "half a request": "GET / HT", "a request in flight": "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			core, logged := observer.New(zap.InfoLevel)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			stopped := make(chan error, 1)
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done() // ends when its connection is closed
			})
			known := &counted{Listener: listener, asked: make(chan struct{}, 2)}
			go func() { stopped <- HTTP(ctx, known, handler, zap.New(core)) }()
			client, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := io.WriteString(client, request); err != nil {
				t.Fatal(err)
			}
			<-known.asked
			<-known.asked // the server knows of the connection when it asks for the next one
			if name == "a request in flight" {
				<-asked
			}
			stop()
			if err := <-stopped; err != nil {
				t.Errorf("a stop ended with: %v", err)
			}
			if err := client.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection is still open: %v", err)
			}
			if lines := logged.FilterMessage("clients cut off at the stop"); lines.Len() != 1 {
				t.Errorf("%d lines of the log say that clients were cut off: %v", lines.Len(), logged.All())
			}
		})
	}
}

package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// mostScrapes is how many scrapes are served at the same time; others get a 503. A scrape goes through all objects in the caches.
const mostScrapes = 4

// MetricsHandler serves /metrics and, if profiling is on, what go tool pprof requests.
func MetricsHandler(g prometheus.Gatherer, profiling bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes}))
	if profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// HealthHandler serves /healthz and /readyz. Each function returns what is wrong, or "".
func HealthHandler(alive, ready func() string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, alive(), http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, ready(), http.StatusServiceUnavailable)
	})
	return mux
}

func answer(w http.ResponseWriter, wrong string, code int) {
	if wrong == "" {
		wrong, code = "ok", http.StatusOK
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(wrong + "\n")) // the client may have gone
}

// stopGrace is how long requests in flight may take when a server stops. Then the connections are closed.
const stopGrace = 2 * time.Second

// HTTP answers on a listener until ctx ends. Errors of clients, such as plain HTTP where TLS is served, are logged for debugging. No
// client can make a stop fail or take longer than stopGrace: Shutdown waits 5 s for a connection without a request, and API servers open
// connections ahead.
func HTTP(ctx context.Context, listener net.Listener, handler http.Handler, log *zap.Logger) error {
	wrong, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		return fmt.Errorf("make a log for %s: %w", listener.Addr(), err)
	}
	server := &http.Server{Handler: handler, ErrorLog: wrong, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		err := server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			log.Info("clients cut off at the stop", zap.String("address", listener.Addr().String()), zap.Duration("after", stopGrace))
			err = server.Close()
		}
		stopped <- err
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("stop serving %s: %w", listener.Addr(), err)
	}
	return nil
}

package cache

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"stoic/controller/serve"
	"stoic/schema"
)

// TestReadinessBeforeTheFirstList: between the API server's answer that it serves a resource and the start of its informer nothing has
// been read yet. If the resource counted as read then, /readyz would change back a moment later, and the caches of its children would
// count as not needed until the next check, half a second later.
func TestReadinessBeforeTheFirstList(t *testing.T) {
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))
	var o *Objects
	asked := 0
	look := func(entry zapcore.Entry) error {
		if entry.Message == "watching" {
			asked++
			if o.Ready() {
				t.Error("ready before the first list")
			}
			if served, known := o.Served(); served || known {
				t.Errorf("served: %v, known: %v, want neither before the informer starts", served, known)
			}
		}
		return nil
	}
	o = NewObjects(Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: log.WithOptions(zap.Hooks(look))},
		schema.Resource{Group: "example.org", Version: "v1", Plural: "parts", Kind: "Part"}, nil, Handlers{})
	o.served = func(context.Context) (bool, error) { return true, nil }
	o.watch = func(context.Context, func(error)) {}
	ctx, cancel := context.WithCancel(t.Context())
	o.pause = func(context.Context, time.Duration) { cancel() }
	o.Serve(ctx)
	if asked != 1 {
		t.Errorf("looked %d times, want once", asked)
	}
}

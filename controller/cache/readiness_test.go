package cache

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/serve"
	"stoic/schema"
)

// TestReadinessOfAnAbsentResource: the API server has said that it does not serve the resource, and one failed question after that
// makes the process no less ready.
func TestReadinessOfAnAbsentResource(t *testing.T) {
	o := NewObjects(Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()},
		schema.Resource{Group: "example.org", Version: "v1", Plural: "parts", Kind: "Part"}, nil, Handlers{Replaced: func(map[types.UID]bool) {}})
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	o.served = func(context.Context) (bool, error) {
		if asked++; asked == 1 {
			return false, nil
		}
		cancel()
		return false, apierrors.NewServiceUnavailable("starting")
	}
	o.pause = func(context.Context, time.Duration) {}
	if o.Ready() {
		t.Error("ready before the API server has said anything")
	}
	o.Serve(ctx)
	if asked != 2 || !o.Ready() {
		t.Errorf("ready: %v after %d questions, want ready after 2", o.Ready(), asked)
	}
}

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A CRD that was deleted and is back already holds other objects: the watch begins anew at once. client-go would wait
// longer each time that this happens.
func TestWatchEndsWithWhatItWatches(t *testing.T) {
	gone := apierrors.NewNotFound(runtimeschema.GroupResource{Resource: "tfjobs"}, "")
	for _, c := range []struct {
		of   error
		ends bool
	}{{gone, true}, {apierrors.NewResourceExpired("too old resource version"), true}, {errors.New("connection reset"), false}} {
		p := newPresence(newTestController(t, newAPIServer(t), nil), "TFJob")
		p.served = func(context.Context) (bool, error) { return true, nil }
		ended := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		p.watch = func(watching context.Context, doubt func(error)) {
			doubt(c.of)
			<-watching.Done()
			if ctx.Err() == nil {
				close(ended)
			}
		}
		p.once(ctx)
		select {
		case <-ended:
			if !c.ends {
				t.Errorf("the watch ended with %v", c.of)
			}
		default:
			if c.ends {
				t.Errorf("the watch did not end with %v", c.of)
			}
		}
		cancel()
	}
}

package cache

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// retryTransient repeats a list, or the start of a watch, while it fails for a reason that lies with the API server, or with
// the way to it, and ends for all at once: it is down, or the webhook that converts what is listed is. A reflector that
// sees each failure backs off for up to a minute, and is as late once the failure is over.
func retryTransient[T any](ctx context.Context, report func(error), ask func() (T, error)) (T, error) {
	pauses := wait.Backoff{Duration: retryFirst, Factor: 2, Cap: retryLongest, Steps: 10}
	for {
		answer, err := ask()
		if !isTransient(err) || ctx.Err() != nil {
			return answer, err
		}
		report(err)
		pause(ctx, pauses.Step())
	}
}

const retryFirst, retryLongest = 250 * time.Millisecond, 3 * time.Second

// isTransient says whether an error is waited out. 504 is not: with it an API server says that it has not reached a
// version that it was asked for, which it may never reach, as after a restored etcd; the reflector knows what to do.
func isTransient(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // there is no answer
	}
	switch status.Status().Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

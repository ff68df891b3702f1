package cache

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// retryTransient repeats a list, or the start of a watch, while it fails because of the API server, the way to it, or the webhook that
// converts what is listed. Such a failure ends for all clients at the same time. A reflector that sees each failure backs off for up to a
// minute, and continues that late after the failure is over.
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

// isTransient reports whether an error is waited out. 504 is not: with it an API server says that it has not reached the requested
// version, which it may never reach, as after an etcd restore; the reflector handles that.
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

package controller

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// insist repeats a list, or the start of a watch, while it fails for a reason that lies with the API server, or with the
// way to it, and is over all at once: it is down, or the webhook that converts what is listed is. A reflector that is told
// of each failure waits longer after each, for up to a minute, and is as late once the trouble is over.
func insist[T any](ctx context.Context, tell func(error), ask func() (T, error)) (T, error) {
	pauses := wait.Backoff{Duration: insistFirst, Factor: 2, Cap: insistLongest, Steps: 10}
	for {
		answer, err := ask()
		if !passing(err) || ctx.Err() != nil {
			return answer, err
		}
		tell(err)
		pause(ctx, pauses.Step())
	}
}

const insistFirst, insistLongest = 250 * time.Millisecond, 3 * time.Second

// passing says whether an error is one that is waited out. Not so 504: with it an API server says that it does not know
// a version yet that it was asked for, which it may never come to, as after a restored etcd; the reflector knows what to
// do then.
func passing(err error) bool {
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

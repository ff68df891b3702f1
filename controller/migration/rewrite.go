package migration

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attempts is how often one object is tried. Pauses between attempts double from firstPause. A delay that the API server suggests is
// waited for, at most longest.
const (
	attempts   = 5
	firstPause = 200 * time.Millisecond
	longest    = 30 * time.Second
)

// rewrite applies nothing to an object, which makes the API server store it as it would store it now. gone: it no longer exists.
//
// It is an apply, and no update: if a conversion of managedFields fails, an update succeeds and drops them. It names the UID, as an apply
// would otherwise create an object that does not exist.
func (m *Migration) rewrite(ctx context.Context, k kind, o object) (gone bool, err error) {
	wait := firstPause
	for attempt := 1; ; attempt++ {
		if err = m.apply(ctx, k, o); err == nil || apierrors.IsNotFound(err) {
			return err != nil, nil
		}
		if apierrors.IsConflict(err) {
			// The object was deleted, and perhaps recreated.
			found, read := m.objects.Resource(k.resource).Namespace(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
			if apierrors.IsNotFound(read) {
				return true, nil
			}
			if read == nil {
				o.uid = found.UID
			}
		} else if !aboutServer(err) {
			return false, err
		}
		if attempt == attempts {
			return false, err
		}
		next := wait
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			next = max(next, min(time.Duration(seconds)*time.Second, longest))
		}
		if err := m.pause(ctx, next); err != nil {
			return false, err
		}
		wait *= 2
	}
}

func (m *Migration) apply(ctx context.Context, k kind, o object) error {
	meta := map[string]any{"name": o.name, "uid": o.uid}
	if k.namespaced {
		meta["namespace"] = o.namespace
	}
	nothing, err := json.Marshal(map[string]any{"apiVersion": k.resource.GroupVersion().String(), "kind": k.name, "metadata": meta})
	if err != nil {
		return err
	}
	force := true
	options := metav1.PatchOptions{FieldManager: m.Manager, Force: &force}
	if m.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = m.objects.Resource(k.resource).Namespace(o.namespace).Patch(ctx, o.name, types.ApplyPatchType, nothing, options)
	return err
}

// aboutServer reports whether the error says nothing of the object; the same request may succeed later.
func aboutServer(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // no answer
	}
	code := status.Status().Code
	return code == http.StatusTooManyRequests || code == http.StatusUnauthorized || code >= http.StatusInternalServerError
}

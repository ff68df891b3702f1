package cache

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/controller/consistency"
)

// positionOptions request the version of the store, at a cost that does not depend on its content: in a namespace, one
// name is one key of etcd, and an API server reads that key alone, whether it answers from etcd or from its watch
// cache. The name need not exist. A label selector would make a server that answers from etcd read all objects to find
// one that matches, and a list without any selector makes etcd count them.
func positionOptions() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=stoic", Limit: 1}
}

// positionNamespace is the namespace to ask in when all are watched.
func positionNamespace(watched string) string { return cmp.Or(watched, metav1.NamespaceDefault) }

// resumeWatch starts a watch, if the store of the API server has reached the version that the watch resumes from.
//
// An API server that is asked to resume from a version that its store has not reached reports no error: it leaves out
// all older events, and the watch is silent until as much has happened again. That is so after etcd was restored to the
// past under a running process (kubernetes/kubernetes#107457), and after a load balancer switched to another cluster.
// So a list requests the version of the store; see positionOptions. It is sent after the watch has started, and before
// an event of it is read. So a store that goes back before or during the start is noticed; with the list first, it
// would not be. Expired (410) makes a reflector list again.
//
//	resumed from                       then
//	nothing, "0", initial events       the watch begins with the existing objects: no check
//	a version that the store reached   watch
//	a version still to come            410
//
// A store that has already passed the version with another history is not noticed. One that goes back later is noticed
// when the watch is resumed the next time, after ten minutes at the latest.
//
// list lists in one namespace; see positionNamespace.
func resumeWatch[L metav1.ListInterface](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error),
	start func(context.Context, metav1.ListOptions) (watch.Interface, error)) (watch.Interface, error) {
	if !isResumed(o) {
		return start(ctx, o)
	}
	started, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	now, err := list(ctx, positionOptions())
	if err != nil {
		started.Stop()
		return nil, fmt.Errorf("ask for the version of the store: %w", err)
	}
	if !consistency.Reached(now.GetResourceVersion(), o.ResourceVersion) {
		started.Stop()
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("the store is at version %s, and was seen at %s before: it has gone back",
			now.GetResourceVersion(), o.ResourceVersion))
	}
	return started, nil
}

// isResumed reports whether a watch continues from a version, and does not begin with the existing objects.
func isResumed(o metav1.ListOptions) bool {
	return o.ResourceVersion != "" && o.ResourceVersion != "0" && (o.SendInitialEvents == nil || !*o.SendInitialEvents)
}

// latest requests the newest state in place of any state: client-go's reflector lists with resourceVersion "0" when it
// falls back from streaming, which may be answered with a past in which deleted objects exist.
func latest(o metav1.ListOptions) metav1.ListOptions {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
		o.ResourceVersionMatch = ""
	}
	return o
}

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

// positionOptions ask for the version of the store, for a price that does not depend on what is in it: in a namespace,
// one name is one key of etcd, and an API server reads that key alone, whether it answers from etcd or from its watch
// cache. The name need not exist. A label selector would make a server that answers from etcd read all objects to find
// one that matches, and a list without any selector makes etcd count them.
func positionOptions() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: "metadata.name=stoic", Limit: 1}
}

// positionNamespace is the namespace to ask in when all are watched.
func positionNamespace(watched string) string { return cmp.Or(watched, metav1.NamespaceDefault) }

// resumeWatch starts a watch, if the store of the API server has reached the version that the watch resumes from.
//
// An API server that is asked to resume from a version which its store has not reached reports no error: it leaves out
// all that is older, and the watch is silent until as much has happened again. An etcd that was restored to the past
// under a running process is like that (kubernetes/kubernetes#107457), and so is a load balancer that turns from one
// cluster to another. So the store is asked for its version, by a list; see positionOptions. It is asked when the watch
// has started, and before an event of it is read: what goes back before the start, or while it starts, is seen, as it
// would not be if the list came first. Expired (410) makes a reflector list again.
//
//	resumed from                       then
//	nothing, "0", initial events       the watch begins with what there is: nothing to ask
//	a version that the store reached   watch
//	a version still to come            410
//
// What it does not see is a store that has passed the version with another history by the time it is asked. One that goes
// back after that is seen when the watch is resumed the next time, after ten minutes at the latest.
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

// isResumed: the watch is to go on from a version, and does not begin with what there is.
func isResumed(o metav1.ListOptions) bool {
	return o.ResourceVersion != "" && o.ResourceVersion != "0" && (o.SendInitialEvents == nil || !*o.SendInitialEvents)
}

// latest asks for the newest state in place of "anything you have": client-go's reflector asks for resourceVersion "0"
// when it falls back from streaming, which may be answered with a past in which deleted objects exist.
func latest(o metav1.ListOptions) metav1.ListOptions {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
		o.ResourceVersionMatch = ""
	}
	return o
}

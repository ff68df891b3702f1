package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// resume starts a watch, if the API server has come to the version that it shall go on from.
//
// An API server that is asked to go on from a version which its store has not come to says nothing of it: it leaves out all
// that is older, and whoever watches is deaf until as much has happened again. An etcd that was restored to the past under
// a running process is like that (kubernetes/kubernetes#107457), and so is a load balancer that turns from one cluster to
// another. So the store is asked first where it stands, by a list of at most one object. Expired (410) makes a reflector
// list anew.
//
//	asked from                        then
//	nothing, "0", initial events      the watch begins with what there is: nothing to ask
//	a version that has come to be     watch
//	a version that is still to come   410
//
// What it does not see is a store that has overtaken the version on another way before anyone asked.
func resume[L metav1.ListInterface](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error),
	start func(context.Context, metav1.ListOptions) (watch.Interface, error)) (watch.Interface, error) {
	if o.ResourceVersion == "" || o.ResourceVersion == "0" || o.SendInitialEvents != nil && *o.SendInitialEvents {
		return start(ctx, o)
	}
	now, err := list(ctx, metav1.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("ask where the store stands: %w", err)
	}
	if !reached(now.GetResourceVersion(), o.ResourceVersion) {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("the store is at version %s, and was seen at %s before: it has gone back",
			now.GetResourceVersion(), o.ResourceVersion))
	}
	return start(ctx, o)
}

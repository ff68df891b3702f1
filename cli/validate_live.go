package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stoic/internal/lean"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

// live checks what is stored in a cluster.
type live struct {
	client    dynamic.Interface
	discovery discovery.ServerVersionInterfaceWithContext
	namespace string // empty for all
	kinds     []*training.Kind
	page      int64 // objects in one answer
	patience  time.Duration
	talk      io.Writer
}

func newLive(config *rest.Config, namespace string, talk io.Writer) (*live, error) {
	client, err := lean.NewUntyped(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	versions, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &live{client: client, discovery: versions, namespace: namespace, kinds: kinds.Served(), page: 500, patience: 2 * time.Second, talk: talk}, nil
}

// check reads those kinds that the cluster serves. A kind that the user may not read does not hide the others; any other error would
// occur for all of them.
func (l *live) check(ctx context.Context, r *report) error {
	var forbidden []error
	for _, versions := range byPlural(l.kinds) {
		kind, err := versions[0], error(nil)
		for _, kind = range versions {
			if err = l.kind(ctx, kind, r); !apierrors.IsNotFound(err) {
				break // each version that is served has all objects
			}
		}
		if apierrors.IsNotFound(err) {
			// A server that is no API server does not serve it either.
			if _, err = l.discovery.ServerVersionWithContext(ctx); err == nil {
				fmt.Fprintf(l.talk, "skipped %s: the cluster does not serve them\n", kind.Plural)
			}
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("read the %s: %w", kind.Plural, err)
		if !apierrors.IsForbidden(err) {
			return err
		}
		forbidden = append(forbidden, err)
	}
	return errors.Join(forbidden...)
}

// byPlural groups kinds by plural, in the order in which the plurals first occur.
func byPlural(all []*training.Kind) (plurals [][]*training.Kind) {
	for _, kind := range all {
		at := slices.IndexFunc(plurals, func(versions []*training.Kind) bool { return versions[0].Plural == kind.Plural })
		if at < 0 {
			at, plurals = len(plurals), append(plurals, nil)
		}
		plurals[at] = append(plurals[at], kind)
	}
	return plurals
}

// restarts is how often a list is started at most. Each has minutes before its continue token expires.
const restarts = 5

// kind reads all objects of a kind, or none. It starts again if the server no longer has the version that it began to list.
func (l *live) kind(ctx context.Context, kind *training.Kind, r *report) error {
	before := *r
	for attempt := 1; ; attempt++ {
		err := l.pages(ctx, kind, r)
		if err == nil {
			return nil
		}
		*r = before
		if attempt == restarts || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return err
		}
	}
}

func (l *live) pages(ctx context.Context, kind *training.Kind, r *report) error {
	var read atomic.Int64
	defer l.wait(kind, &read)()
	objects := l.client.Resource(runtimeschema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.Plural}).
		Namespace(l.namespace)
	for options := (metav1.ListOptions{Limit: l.page}); ; {
		list, err := objects.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			r.stored(kind, &list.Items[i])
		}
		read.Add(int64(len(list.Items)))
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// wait reports the progress of a long list at intervals, until end is called.
func (l *live) wait(kind *training.Kind, read *atomic.Int64) (end func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(l.patience)
		defer again.Stop()
		for {
			select {
			case <-over:
				return
			case <-again.C:
				fmt.Fprintf(l.talk, "%d %s read ...\n", read.Load(), kind.Plural)
			}
		}
	}()
	return func() { close(over); <-ended }
}

// stored checks one object of the cluster, as the controller does.
func (r *report) stored(kind *training.Kind, u *unstructured.Unstructured) {
	r.Summary.Documents++
	result := convert.Object(kind, u)
	object := checked{name: nameOf(result.Head)}
	if result.Rejection != nil {
		for _, p := range result.Rejection.Problems {
			r.add(entry{}, &object, "error", place{}, p)
		}
	}
	for _, p := range result.Warnings {
		r.add(entry{}, &object, "warning", place{}, p)
	}
	r.finish(object)
}

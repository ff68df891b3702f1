package malformed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/mutation"
)

const (
	// writers store objects in parallel, and pace is the interval at which they begin with the next, all together. It is as fast
	// as many users, and slow enough that the result does not measure the machine.
	writers = 12
	pace    = time.Second / 80
)

// store stores objects, each in its way.
func (p *plane) store(ctx context.Context, all []*object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	next := time.NewTicker(pace)
	defer next.Stop()
	for _, o := range all {
		select {
		case <-ctx.Done():
		case <-next.C:
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := p.storeOne(ctx, o); err != nil {
				return fmt.Errorf("store %s, %s: %w", o.id(), o.choice.Name(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (p *plane) storeOne(ctx context.Context, o *object) error {
	u, err := send(ctx, p.collection(p.raw.Post(), o.kind, o.places.Namespace).Body(o.created(p.bystanders[o.places.Namespace])))
	switch {
	case refused(err):
		o.refusal = err.Error()
		return nil
	case err != nil:
		return err
	}
	o.is(u)
	if o.way == edited {
		if err := p.await(ctx, "a valid object to be served", func() (bool, string) {
			s := p.sight.see(o.uid)
			return s.object != nil && observed(s.object) == o.generation, fmt.Sprintf("%d versions", s.versions)
		}); err != nil {
			return err
		}
	}
	switch {
	case o.Part == mutation.Status:
		return p.spoilStatus(ctx, o)
	case o.way == edited:
		return p.update(ctx, o, o.spoiled)
	}
	return nil
}

// update updates what the user writes.
func (p *plane) update(ctx context.Context, o *object, to map[string]any) error {
	return p.change(ctx, o, "", func(now map[string]any) []byte { return o.updated(to, now, p.bystanders[o.places.Namespace]) })
}

// spoilStatus puts into the status what no operator writes.
func (p *plane) spoilStatus(ctx context.Context, o *object) error {
	return p.change(ctx, o, "status", func(now map[string]any) []byte {
		now = maps.Clone(now)
		if now["status"] = o.spoiled["status"]; o.spoiled["status"] == nil {
			delete(now, "status")
		}
		return body(now, "")
	})
}

// change changes the current state of an object; it retries if another client was faster.
func (p *plane) change(ctx context.Context, o *object, part string, to func(now map[string]any) []byte) error {
	for {
		now, err := send(ctx, p.collection(p.raw.Get(), o.kind, o.places.Namespace).Suffix(o.id()))
		if err != nil {
			return err
		}
		request := p.collection(p.raw.Put(), o.kind, o.places.Namespace).Suffix(o.id())
		if part != "" {
			request = request.Suffix(part)
		}
		u, err := send(ctx, request.Body(to(now.Object)))
		switch {
		case apierrors.IsConflict(err):
			continue
		case refused(err):
			o.refusal = err.Error()
			return nil
		case err != nil:
			return err
		}
		o.is(u)
		if part == "status" {
			o.foreign = o.unknown(u)
		}
		return nil
	}
}

// remove deletes objects, after it has removed the finalizers that mutations have set.
func (p *plane) remove(ctx context.Context, all []*object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, o := range all {
		if o.uid == "" {
			continue
		}
		group.Go(func() error {
			objects := p.client.Resource(o.Resource).Namespace(o.places.Namespace)
			if o.Cluster {
				objects = p.client.Resource(o.Resource)
			}
			if o.Path.String() == "metadata.finalizers" && o.refusal == "" {
				if err := p.release(ctx, o); err != nil {
					return err
				}
			}
			background := metav1.DeletePropagationBackground
			if err := objects.Delete(ctx, o.id(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("delete %s: %w", o.id(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// release removes the finalizers that a mutation has set, and no others.
func (p *plane) release(ctx context.Context, o *object) error {
	return p.change(ctx, o, "", func(now map[string]any) []byte {
		now = maps.Clone(now)
		meta, _ := now["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		theirs, _ := meta["finalizers"].([]any)
		meta["finalizers"] = slices.DeleteFunc(slices.Clone(theirs), func(f any) bool { return strings.HasPrefix(fmt.Sprint(f), "example.com/") })
		now["metadata"] = meta
		return body(now, "")
	})
}

package cache

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"stoic/internal/lean"
)

// reader reads one resource.
type reader interface {
	// informer makes an informer of children.
	informer(report func(error)) cache.SharedIndexInformer
	// list reads children in a namespace ("" is all) from the API server.
	list(ctx context.Context, namespace, selector string) ([]*child, error)
}

// untypedReader reads any resource.
type untypedReader struct{ *Dependents }

func (r *untypedReader) namespace() string {
	if r.Resource.Cluster {
		return ""
	}
	return r.source.Namespace
}

func (r *untypedReader) informer(report func(error)) cache.SharedIndexInformer {
	return newInformer(r.source.Client, r.Resource, r.namespace(), r.Selector, report, r.slim, r.indexers())
}

// slim is the informer's transform; see Objects.transform for what client-go requires of it.
func (r *untypedReader) slim(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return r.untyped(u), nil
	}
	if _, ok := obj.(metav1.ObjectMetaAccessor); ok {
		return obj, nil
	}
	return &child{}, nil
}

func (r *untypedReader) list(ctx context.Context, namespace, selector string) (found []*child, _ error) {
	list, err := r.source.Client.Resource(gvr(r.Resource)).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		found = append(found, r.untyped(&list.Items[i]))
	}
	return found, nil
}

// typedReader reads pods or services. Built-in objects are typed on the server: they cannot be malformed.
type typedReader struct {
	*Dependents
	client *lean.Client // all namespaces
}

func (r *typedReader) informer(report func(error)) cache.SharedIndexInformer {
	client, one := r.client.In(r.source.Namespace), r.client.In(positionNamespace(r.source.Namespace))
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = r.Selector
			all := &internalversion.List{}
			version, err := eachPaged(ctx, latest(o), report, client.List, func(item runtime.Object) error {
				if typed, ok := item.(*lean.Object); ok {
					all.Items = append(all.Items, carrier{r.typed(typed)})
				}
				return nil
			})
			all.ResourceVersion = version
			return all, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = r.Selector
			return retryTransient(ctx, report, func() (watch.Interface, error) { return resumeWatch(ctx, o, one.List, client.Watch) })
		},
	}
	informer := cache.NewSharedIndexInformer(lw, &lean.Object{}, 0, r.indexers())
	_ = informer.SetTransform(unpacked(r.slim)) // it cannot fail before the informer runs
	return informer
}

func (r *typedReader) slim(obj any) (any, error) {
	if o, ok := obj.(*lean.Object); ok {
		return r.typed(o), nil
	}
	return obj, nil // our own output, on its second way through
}

func (r *typedReader) list(ctx context.Context, namespace, selector string) (found []*child, _ error) {
	list, err := r.client.In(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		found = append(found, r.typed(&list.Items[i]))
	}
	return found, nil
}

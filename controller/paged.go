package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// list is what every typed list is.
type list interface {
	runtime.Object
	metav1.ListInterface
}

// pageSize is how many objects of a list are in memory as they came.
const pageSize = 200

// paged lists in pages and cuts every object down before it asks for the next page. A reflector gathers all pages first,
// and asks for a single one when it lists again after a watch that was lost: what it holds then, beside the cache, is
// everything as it came, ten times the size of the cache. It matters where an API server does not stream lists, or not now.
//
// Every page is of the version of the first. A list that takes so long that its version is forgotten is begun anew by the
// reflector (410).
func paged[L list](ctx context.Context, o metav1.ListOptions, tell func(error), next func(context.Context, metav1.ListOptions) (L, error), slim cache.TransformFunc) (runtime.Object, error) {
	all := &internalversion.List{}
	for o.Limit, o.Continue = pageSize, ""; ; o.ResourceVersion, o.ResourceVersionMatch = "", "" {
		page, err := insist(ctx, tell, func() (L, error) { return next(ctx, o) })
		if err != nil {
			return nil, err
		}
		if err := meta.EachListItem(page, func(item runtime.Object) error {
			small, err := slim(item)
			if err != nil {
				return err
			}
			object, ok := small.(metav1.ObjectMetaAccessor)
			if !ok {
				return fmt.Errorf("cut down a %T: a %T has no metadata", item, small)
			}
			all.Items = append(all.Items, listed{object})
			return nil
		}); err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		all.ResourceVersion = page.GetResourceVersion()
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return all, nil
		}
	}
}

// listed carries an object that was cut down through a reflector, which takes nothing but API objects from a list.
type listed struct{ metav1.ObjectMetaAccessor }

func (listed) GetObjectKind() runtimeschema.ObjectKind { return runtimeschema.EmptyObjectKind }

// DeepCopyObject gives the same: nobody writes to what was cut down.
func (l listed) DeepCopyObject() runtime.Object { return l }

// unpacked is a transform of what a watch brings, for what a list brings too.
func unpacked(slim cache.TransformFunc) cache.TransformFunc {
	return func(obj any) (any, error) {
		if l, ok := obj.(listed); ok {
			return l.ObjectMetaAccessor, nil
		}
		return slim(obj)
	}
}

// untypedInformer watches objects of one resource, selected by label, in a namespace or in all. It never lists from a
// cache of unknown age (see fresh), goes on only from what has come to be (see resume), insists on lists and watches, and
// tells of each failure.
func untypedInformer(client dynamic.Interface, r runtimeschema.GroupVersionResource, namespace, selector string, tell func(error), slim cache.TransformFunc,
	indexers cache.Indexers) cache.SharedIndexInformer {
	resource := client.Resource(r).Namespace(namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return paged(ctx, fresh(o), tell, func(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
				return resource.List(ctx, o)
			}, slim)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			w, err := insist(ctx, tell, func() (watch.Interface, error) { return resume(ctx, o, resource.List, resource.Watch) })
			if err != nil {
				return nil, err
			}
			return listen(w, tell), nil
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{Indexers: indexers, ObjectDescription: r.String()})
	_ = informer.SetTransform(unpacked(slim)) // it cannot fail before the informer runs
	return informer
}

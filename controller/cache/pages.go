package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// list is what every typed list implements.
type list interface {
	runtime.Object
	metav1.ListInterface
}

// pageSize is how many objects of a list are in memory before they are reduced.
const pageSize = 200

// eachPaged lists in pages and passes every object to add before it requests the next page. A reflector gathers all
// pages first, and requests a single page when it lists again after a lost watch. It then holds, beside the cache, all
// objects as they were received, ten times the size of the cache. That matters when an API server does not stream
// lists.
//
// Every page has the version of the first, which is returned. If that version is compacted before the list ends (410),
// the reflector begins again.
func eachPaged[L list](ctx context.Context, o metav1.ListOptions, report func(error), next func(context.Context, metav1.ListOptions) (L, error),
	add func(runtime.Object) error) (version string, _ error) {
	for o.Limit, o.Continue = pageSize, ""; ; o.ResourceVersion, o.ResourceVersionMatch = "", "" {
		page, err := retryTransient(ctx, report, func() (L, error) { return next(ctx, o) })
		if err != nil {
			return "", err
		}
		if err := meta.EachListItem(page, add); err != nil {
			return "", fmt.Errorf("read a list: %w", err)
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}

// carrier passes a reduced object through a reflector, which accepts only API objects from a list.
type carrier struct{ metav1.ObjectMetaAccessor }

// GetObjectKind returns nothing: the reflector of a typed list does not use it.
func (carrier) GetObjectKind() runtimeschema.ObjectKind { return runtimeschema.EmptyObjectKind }

// DeepCopyObject returns the same carrier: no one writes to a reduced object.
func (c carrier) DeepCopyObject() runtime.Object { return c }

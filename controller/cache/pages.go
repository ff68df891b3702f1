package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// list is what every typed list is.
type list interface {
	runtime.Object
	metav1.ListInterface
}

// pageSize is how many objects of a list are in memory as they came.
const pageSize = 200

// eachPaged lists in pages and hands every object to add before it asks for the next page. A reflector gathers all pages
// first, and asks for a single one when it lists again after a watch that was lost: what it holds then, beside the
// cache, is everything as it came, ten times the size of the cache. It matters where an API server does not stream
// lists, or not now.
//
// Every page is of the version of the first, which is returned. A list that takes so long that its version is compacted
// is begun again by the reflector (410).
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

// carrier takes an object that was cut down through a reflector, which takes nothing but API objects from a list.
type carrier struct{ metav1.ObjectMetaAccessor }

// GetObjectKind has no answer: the reflector of a typed list does not ask.
func (carrier) GetObjectKind() runtimeschema.ObjectKind { return runtimeschema.EmptyObjectKind }

// DeepCopyObject gives the same: no one writes to what was cut down.
func (c carrier) DeepCopyObject() runtime.Object { return c }

package cache

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"stoic/schema"
)

// newInformer makes an untyped informer of one resource, selected by label, in a namespace or in all. It is the informer of
// package dynamicinformer over a client that never lists from a cache of unknown age, resumes only from what the store
// has reached, retries transient failures, and reports each failure. slim is the transform; it cuts down lists page by
// page.
func newInformer(client dynamic.Interface, r schema.Resource, namespace, selector string, report func(error), slim cache.TransformFunc,
	indexers cache.Indexers) cache.SharedIndexInformer {
	informer := dynamicinformer.NewFilteredDynamicInformer(&listWatchClient{client, r, report, slim}, gvr(r), namespace, 0, indexers,
		func(o *metav1.ListOptions) { o.LabelSelector = selector }).Informer()
	_ = informer.SetTransform(unpacked(slim)) // it cannot fail before the informer runs
	return informer
}

func gvr(r schema.Resource) runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// listWatchClient decorates a dynamic client with the lists and watches of this package.
type listWatchClient struct {
	dynamic.Interface
	resource schema.Resource
	report   func(error)
	slim     cache.TransformFunc
}

// Resource decorates the client of one resource.
func (c *listWatchClient) Resource(r runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := c.Interface.Resource(r)
	return &listWatchResource{NamespaceableResourceInterface: all, all: all, reads: all, client: c}
}

// IsWatchListSemanticsUnSupported passes on what the decorated client answers to client-go: whether its watches cannot begin with the
// existing objects.
func (c *listWatchClient) IsWatchListSemanticsUnSupported() bool {
	asked, ok := c.Interface.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && asked.IsWatchListSemanticsUnSupported()
}

type listWatchResource struct {
	dynamic.NamespaceableResourceInterface
	all       dynamic.NamespaceableResourceInterface
	reads     dynamic.ResourceInterface // in the namespace, or in all
	namespace string
	client    *listWatchClient
}

// Namespace returns the same client in one namespace; "" is all.
func (r *listWatchResource) Namespace(namespace string) dynamic.ResourceInterface {
	in := *r
	in.reads, in.namespace = r.all.Namespace(namespace), namespace
	return &in
}

// List returns the objects as carriers: see packed.
func (r *listWatchResource) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	all := &unstructured.UnstructuredList{}
	version, err := eachPaged(ctx, latest(o), r.client.report, r.reads.List, func(item runtime.Object) error {
		small, err := r.client.slim(item)
		if err != nil {
			return err
		}
		object, ok := small.(metav1.ObjectMetaAccessor)
		if !ok {
			return fmt.Errorf("cut down a %T: a %T has no metadata", item, small)
		}
		all.Items = append(all.Items, packed(object))
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.SetResourceVersion(version)
	return all, nil
}

// Watch resumes only from what the store has reached, and reports errors inside of the watch. It reports nil when it continues where
// another watch ended.
func (r *listWatchResource) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	one := dynamic.ResourceInterface(r.all)
	if !r.client.resource.Cluster {
		one = r.all.Namespace(positionNamespace(r.namespace))
	}
	w, err := retryTransient(ctx, r.client.report, func() (watch.Interface, error) { return resumeWatch(ctx, o, one.List, r.reads.Watch) })
	if err != nil {
		return nil, err
	}
	if isResumed(o) {
		r.client.report(nil)
	}
	return reportErrors(w, r.client.report), nil
}

// packedKey is the only key of a packed object beside its metadata. No API object has it.
const packedKey = "stoic/packed"

// packed wraps a reduced object into an untyped one that the reflector can take from a list: the reflector reads name, namespace and
// resourceVersion, and passes it to the transform, which unpacks it.
func packed(object metav1.ObjectMetaAccessor) unstructured.Unstructured {
	m := object.GetObjectMeta()
	return unstructured.Unstructured{Object: map[string]any{packedKey: object, "metadata": map[string]any{
		"name": m.GetName(), "namespace": m.GetNamespace(), "uid": string(m.GetUID()), "resourceVersion": m.GetResourceVersion()}}}
}

// unpacked extends a transform of what a watch brings to what a list brings.
func unpacked(slim cache.TransformFunc) cache.TransformFunc {
	return func(obj any) (any, error) {
		switch o := obj.(type) {
		case carrier:
			return o.ObjectMetaAccessor, nil
		case *unstructured.Unstructured:
			if o != nil {
				if object, ok := o.Object[packedKey].(metav1.ObjectMetaAccessor); ok {
					return object, nil
				}
			}
		}
		return slim(obj)
	}
}

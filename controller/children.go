package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unique"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/lean"
	"stoic/schema"
)

// children are the pods and services of all jobs of all kinds, cut down to what decisions need (about half a
// KB each) and indexed by the UID of the owner that controls them. The API server selects them by label.
type children struct {
	inPods, inServices *lean.Client // all namespaces
	selector           string
	pods               cache.SharedIndexInformer
	services           cache.SharedIndexInformer
	log                *zap.Logger
}

// child is a cached pod, service or extra object; of the last three, one is set.
type child struct {
	identity
	owned   unique.Handle[ownerKey] // all children of one owner share it
	pod     *schema.Pod
	service *schema.Service
	extra   *schema.StoredExtra
}

// identity is as much of an object's metadata as a cache asks for, in a quarter of the room.
type identity struct {
	Name, Namespace string
	UID             types.UID
	ResourceVersion string
}

func (i *identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: i.Name, Namespace: i.Namespace, UID: i.UID, ResourceVersion: i.ResourceVersion}
}

// owner is the controller owner, or nothing.
func (c *child) owner() ownerKey {
	if c.owned == (unique.Handle[ownerKey]{}) {
		return ownerKey{}
	}
	return c.owned.Value()
}

// ownerKey is the controller owner of a child.
type ownerKey struct {
	uid              types.UID
	apiVersion, kind string
	key              string // namespace/name
}

const byOwner = "owner"

func newChildren(config *rest.Config, o Options, wake func(ownerKey)) (*children, error) {
	operators := make([]string, len(o.Watched))
	for i, w := range o.Watched {
		operators[i] = w.Kind.Controller
	}
	slices.Sort(operators)
	pods, services, err := lean.NewClients(config)
	if err != nil {
		return nil, fmt.Errorf("watch children: %w", err)
	}
	c := &children{inPods: pods, inServices: services, log: o.Log,
		selector: schema.LabelOperator + " in (" + strings.Join(operators, ",") + ")"}
	c.pods = c.informer(pods.In(o.Namespace), wake, slimPod)
	c.services = c.informer(services.In(o.Namespace), wake, slimService)
	return c, nil
}

func (c *children) informer(client *lean.Client, wake func(ownerKey), slim func(*lean.Object) *child) cache.SharedIndexInformer {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = c.selector
			return paged(ctx, fresh(o), c.tell, client.List, slimming(slim))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = c.selector
			return insist(ctx, c.tell, func() (watch.Interface, error) { return resume(ctx, o, client.List, client.Watch) })
		},
	}
	informer := cache.NewSharedIndexInformer(lw, &lean.Object{}, 0,
		cache.Indexers{byOwner: indexByOwner})
	// Neither call can fail before the informer runs.
	_ = informer.SetTransform(unpacked(slimming(slim)))
	_, _ = informer.AddEventHandler(waking(wake))
	return informer
}

// indexByOwner: an owner reference holds within a namespace. A child elsewhere that claims an owner is none of its
// children, whatever it says; garbage collection removes it, but not at once.
func indexByOwner(obj any) ([]string, error) {
	if c, ok := obj.(*child); ok && c.owner().uid != "" {
		return []string{ownerIndex(c.Namespace, c.owner().uid)}, nil
	}
	return nil, nil // an error here would end the process
}

func ownerIndex(namespace string, owner types.UID) string { return namespace + "/" + string(owner) }

// waking queues the owner of whatever changed, if what changed matters.
func waking(wake func(ownerKey)) cache.ResourceEventHandler {
	of := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if c, ok := obj.(*child); ok && c.owner().uid != "" {
			wake(c.owner())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    of,
		DeleteFunc: of,
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*child)
			is, ok2 := after.(*child)
			if ok1 && ok2 && was.owned == is.owned && samePod(was.pod, is.pod) && sameService(was.service, is.service) && sameExtra(was.extra, is.extra) {
				return // a heartbeat, a probe, somebody's annotation: no decision depends on it
			}
			if ok1 && (!ok2 || was.owned != is.owned) {
				of(before)
			}
			of(after)
		},
	}
}

func samePod(a, b *schema.Pod) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.UID == b.UID && a.Role == b.Role && a.Phase == b.Phase &&
		a.Deleting == b.Deleting && a.Restarts == b.Restarts && a.Row == b.Row && slices.Equal(a.Exits, b.Exits)
}

func sameService(a, b *schema.Service) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// slimming is the transform of both informers. Built-in objects are typed on the server: they cannot be malformed.
func slimming(slim func(*lean.Object) *child) cache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(*lean.Object); ok {
			return slim(o), nil
		}
		return obj, nil // our own output, on its second way through
	}
}

func slimMeta(m *lean.Object) *child {
	c := &child{identity: identity{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion}}
	if owner := metav1.GetControllerOfNoCopy(m); owner != nil {
		c.owned = unique.Make(ownerKey{uid: owner.UID, apiVersion: owner.APIVersion, kind: owner.Kind, key: m.Namespace + "/" + owner.Name})
	}
	return c
}

func slimService(s *lean.Object) *child {
	c := slimMeta(s)
	c.service = &schema.Service{Name: s.Name, UID: s.UID, Deleting: s.DeletionTimestamp != nil}
	return c
}

func slimPod(p *lean.Object) *child {
	c := slimMeta(p)
	c.pod = &schema.Pod{Name: p.Name, UID: p.UID, Role: p.Labels[schema.LabelRole], Phase: p.Status.Phase,
		Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil}
	row, _ := strconv.ParseInt(p.Annotations[schema.AnnotationRestartCount], 10, 64) // no number: 0; one too large: the largest
	c.pod.Row = schema.Count(row)
	for _, s := range p.Status.InitContainers {
		c.pod.Restarts += int64(max(s.RestartCount, 0))
	}
	for _, s := range p.Status.Containers {
		c.pod.Restarts += int64(max(s.RestartCount, 0))
		if t := s.State.Terminated; t != nil {
			c.pod.Exits = append(c.pod.Exits, schema.Exit{Container: s.Name, Code: t.ExitCode})
		}
	}
	return c
}

func (c *children) start(ctx context.Context, running *sync.WaitGroup) {
	running.Go(func() { c.pods.RunWithContext(ctx) })
	running.Go(func() { c.services.RunWithContext(ctx) })
}

// tell of a list or a watch that failed and is tried again.
func (c *children) tell(err error) {
	c.log.Info("the watch of pods or services was interrupted", zap.Error(err))
}

func (c *children) synced() bool { return c.pods.HasSynced() && c.services.HasSynced() }

// of returns the cached children of one owner.
func (c *children) of(namespace string, owner types.UID) (pods []schema.Pod, services []schema.Service) {
	for _, obj := range indexed(c.pods, namespace, owner) {
		if obj.pod != nil {
			pods = append(pods, *obj.pod)
		}
	}
	for _, obj := range indexed(c.services, namespace, owner) {
		if obj.service != nil {
			services = append(services, *obj.service)
		}
	}
	return pods, services
}

func indexed(informer cache.SharedIndexInformer, namespace string, owner types.UID) []*child {
	objects, err := informer.GetIndexer().ByIndex(byOwner, ownerIndex(namespace, owner))
	if err != nil {
		return nil // the index exists: it was given to the informer when it was made
	}
	found := make([]*child, 0, len(objects))
	for _, obj := range objects {
		if c, ok := obj.(*child); ok {
			found = append(found, c)
		}
	}
	return found
}

// family is what was read of a job's children, and the newest versions among them.
type family struct {
	pods                       []schema.Pod
	services                   []schema.Service
	podVersion, serviceVersion string
}

// live reads the children of one owner from the API server instead of from the caches: the way out when the
// caches do not catch up with our own writes.
func (c *children) live(ctx context.Context, namespace, job string, owner types.UID) (found family, _ error) {
	if len(validation.IsValidLabelValue(job)) > 0 {
		return found, nil // a name that no child can be labelled with: there are none, and to ask is an error
	}
	options := metav1.ListOptions{LabelSelector: c.selector + "," + schema.LabelJob + "=" + job}
	podList, err := c.inPods.In(namespace).List(ctx, options)
	if err != nil {
		return found, fmt.Errorf("list pods: %w", err)
	}
	serviceList, err := c.inServices.In(namespace).List(ctx, options)
	if err != nil {
		return found, fmt.Errorf("list services: %w", err)
	}
	for i := range podList.Items {
		if s := slimPod(&podList.Items[i]); s.owner().uid == owner {
			found.pods = append(found.pods, *s.pod)
			found.podVersion = newer(found.podVersion, podList.Items[i].ResourceVersion)
		}
	}
	for i := range serviceList.Items {
		if s := slimService(&serviceList.Items[i]); s.owner().uid == owner {
			found.services = append(found.services, *s.service)
			found.serviceVersion = newer(found.serviceVersion, serviceList.Items[i].ResourceVersion)
		}
	}
	return found, nil
}

func (c *children) podVersion() string { return c.pods.GetStore().LastStoreSyncResourceVersion() }
func (c *children) serviceVersion() string {
	return c.services.GetStore().LastStoreSyncResourceVersion()
}

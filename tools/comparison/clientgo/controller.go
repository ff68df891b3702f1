package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	foov1 "stoic/tools/comparison/api/comparison/v1"
	"stoic/tools/comparison/generated/clientset"
	fooinformers "stoic/tools/comparison/generated/informers/externalversions/comparison/v1"
	foolisters "stoic/tools/comparison/generated/listers/comparison/v1"
)

type controller struct {
	kube        kubernetes.Interface
	client      clientset.Interface
	deployments appslisters.DeploymentLister
	foos        foolisters.FooLister
	synced      []cache.InformerSynced
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	recorder    record.EventRecorder
}

func newController(kube kubernetes.Interface, client clientset.Interface, deployments appsinformers.DeploymentInformer, foos fooinformers.FooInformer) (*controller, error) {
	utilruntime.Must(foov1.AddToScheme(scheme.Scheme))
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	c := &controller{kube: kube, client: client, deployments: deployments.Lister(), foos: foos.Lister(),
		synced:   []cache.InformerSynced{deployments.Informer().HasSynced, foos.Informer().HasSynced},
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "foo-controller"})}
	if _, err := foos.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: c.enqueue, UpdateFunc: func(_, now any) { c.enqueue(now) }}); err != nil {
		return nil, err
	}
	_, err := deployments.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: c.enqueueOwner, DeleteFunc: c.enqueueOwner, UpdateFunc: func(before, now any) {
		if before.(*appsv1.Deployment).ResourceVersion != now.(*appsv1.Deployment).ResourceVersion {
			c.enqueueOwner(now)
		}
	}})
	return c, err
}

func (c *controller) enqueue(object any) {
	name, err := cache.ObjectToName(object)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.queue.Add(name)
}

func (c *controller) enqueueOwner(object any) {
	if tombstone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	deployment, is := object.(*appsv1.Deployment)
	if !is {
		utilruntime.HandleError(fmt.Errorf("%T is no Deployment", object))
		return
	}
	owner := metav1.GetControllerOf(deployment)
	if owner == nil || owner.Kind != "Foo" {
		return
	}
	foo, err := c.foos.Foos(deployment.Namespace).Get(owner.Name)
	if err != nil {
		klog.Infof("the owner of Deployment %s/%s is not known: %v", deployment.Namespace, deployment.Name, err)
		return
	}
	c.enqueue(foo)
}

func (c *controller) run(ctx context.Context, workers int) error {
	defer utilruntime.HandleCrash()
	defer c.queue.ShutDown()
	klog.Info("waiting for the caches")
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return errors.New("the caches have not synced")
	}
	klog.Info("the caches have synced")
	for range workers {
		go wait.UntilWithContext(ctx, c.work, time.Second)
	}
	<-ctx.Done()
	return nil
}

func (c *controller) work(ctx context.Context) {
	for c.next(ctx) {
	}
}

func (c *controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if err := c.reconcile(ctx, name); err != nil {
		utilruntime.HandleError(fmt.Errorf("reconcile %s: %w", name, err))
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

func (c *controller) reconcile(ctx context.Context, name cache.ObjectName) error {
	foo, err := c.foos.Foos(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if foo.Spec.DeploymentName == "" { // nothing that a retry would repair
		utilruntime.HandleError(fmt.Errorf("%s: no name of a Deployment", name))
		return nil
	}
	deployment, err := c.deployments.Deployments(foo.Namespace).Get(foo.Spec.DeploymentName)
	if apierrors.IsNotFound(err) {
		deployment, err = c.kube.AppsV1().Deployments(foo.Namespace).Create(ctx, deploymentOf(foo), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(deployment, foo) {
		c.recorder.Eventf(foo, corev1.EventTypeWarning, "NameConflict", "Deployment %s has another owner", deployment.Name)
		return fmt.Errorf("deployment %s has another owner", deployment.Name)
	}
	if deployment.Spec.Replicas == nil || *deployment.Spec.Replicas != foo.Spec.Replicas {
		if deployment, err = c.kube.AppsV1().Deployments(foo.Namespace).Update(ctx, deploymentOf(foo), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return nil
	}
	changed := foo.DeepCopy()
	changed.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	_, err = c.client.ComparisonV1().Foos(foo.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func deploymentOf(foo *foov1.Foo) *appsv1.Deployment {
	labels := map[string]string{"foo": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(foo, foov1.SchemeGroupVersion.WithKind("Foo"))}},
		Spec: appsv1.DeploymentSpec{Replicas: &foo.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.29"}}}}},
	}
}

// Command runtime serves Foos with controller-runtime and its cache of typed objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	foov1 "stoic/tools/comparison/api/comparison/v1"
)

func main() {
	// controller-runtime waits two minutes by default; it defines only the flag --kubeconfig itself.
	patience := flag.Duration("cache-sync-timeout", 2*time.Minute, "how long to wait for the caches")
	klog.InitFlags(nil)
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(*patience); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(patience time.Duration) error {
	utilruntime.Must(foov1.AddToScheme(scheme.Scheme))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{CacheSyncTimeout: patience}})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&foov1.Foo{}).Owns(&appsv1.Deployment{}).Complete(&reconciler{manager.GetClient()}); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var foo foov1.Foo
	if err := r.Get(ctx, request.NamespacedName, &foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"foo": foo.Name}
		deployment.Spec.Replicas = &foo.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.29"}}
		}
		return controllerutil.SetControllerReference(&foo, deployment, r.Scheme())
	})
	if err != nil || foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return ctrl.Result{}, err
	}
	foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	return ctrl.Result{}, r.Status().Update(ctx, &foo)
}

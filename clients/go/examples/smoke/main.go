// Smoke does with PyTorchJobs what hello does not: a test of the operator runs it after hello, whose job it deletes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	kubeflow "stoic/clients/go/pkg/apis/kubeflow.org/v1"
	apply "stoic/clients/go/pkg/client/applyconfiguration/kubeflow.org/v1"
	"stoic/clients/go/pkg/client/clientset/versioned"
	typed "stoic/clients/go/pkg/client/clientset/versioned/typed/kubeflow.org/v1"
	"stoic/clients/go/pkg/client/informers/externalversions"
)

const (
	finished = "hello-go"
	rejected = "rejected-go"
	scaled   = "scaled-go"
	// patience is the time limit of the whole run.
	patience = time.Minute
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the clientset: %w", err)
	}
	jobs := clients.KubeflowV1().PyTorchJobs("default")
	for _, step := range []func(context.Context, typed.PyTorchJobInterface) error{refuse, reject, scale} {
		if err := step(ctx, jobs); err != nil {
			return err
		}
	}
	return remove(ctx, clients)
}

// job returns a job of one replica type, Worker.
func job(name, container string, replicas int32) *kubeflow.PyTorchJob {
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "example.com/train:1"}}}}
	return &kubeflow.PyTorchJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kubeflow.PyTorchJobSpec{
		PyTorchReplicaSpecs: map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{
			kubeflow.PyTorchJobReplicaTypeWorker: {Replicas: &replicas, RestartPolicy: kubeflow.RestartPolicyNever, Template: pod}}}}
}

// refuse checks that the API server does not store what the schema does not allow.
func refuse(ctx context.Context, jobs typed.PyTorchJobInterface) error {
	if _, err := jobs.Create(ctx, job("refused-go", kubeflow.PyTorchJobDefaultContainerName, -1), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a job with -1 replicas: %v, want 422", err)
	}
	return nil
}

// reject checks that a mistake that only the operator finds fails the job.
func reject(ctx context.Context, jobs typed.PyTorchJobInterface) error {
	if _, err := jobs.Create(ctx, job(rejected, "main", 1), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a malformed job: %w", err)
	}
	return await(ctx, jobs, rejected, "", func(kind watch.EventType, job *kubeflow.PyTorchJob) bool {
		for _, c := range job.Status.Conditions {
			if c.Type == kubeflow.JobFailed && c.Status == corev1.ConditionTrue && c.Reason == "InvalidSpec" {
				return true
			}
		}
		return false
	})
}

// scale scales a job that was created from an apply configuration.
func scale(ctx context.Context, jobs typed.PyTorchJobInterface) error {
	workers := job(scaled, kubeflow.PyTorchJobDefaultContainerName, 1).Spec.PyTorchReplicaSpecs
	wanted := apply.PyTorchJob(scaled, "default").WithSpec(apply.PyTorchJobSpec().WithRunPolicy(apply.RunPolicy().WithSuspend(true)).WithPyTorchReplicaSpecs(workers))
	if _, err := jobs.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "smoke"}); err != nil {
		return fmt.Errorf("apply a job: %w", err)
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the operator writes the status meanwhile
		current, err := jobs.GetScale(ctx, scaled, metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Spec.Replicas = 3
		_, err = jobs.UpdateScale(ctx, scaled, current, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("update the scale: %w", err)
	}
	changed, err := jobs.Get(ctx, scaled, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the job that was scaled: %w", err)
	}
	if n := changed.Spec.PyTorchReplicaSpecs[kubeflow.PyTorchJobReplicaTypeWorker].Replicas; n == nil || *n != 3 {
		return fmt.Errorf("the job that was scaled has %v replicas, want 3", n)
	}
	return nil
}

// remove deletes all jobs, and checks that an informer and a watch see it.
func remove(ctx context.Context, clients versioned.Interface) error {
	jobs := clients.KubeflowV1().PyTorchJobs("default")
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, externalversions.WithNamespace("default"))
	lister := factory.Kubeflow().V1().PyTorchJobs().Lister()
	watching, stop := context.WithCancel(ctx)
	factory.Start(watching.Done())
	defer factory.Shutdown() // waits until the informer has stopped
	defer stop()
	factory.WaitForCacheSync(watching.Done())
	known, err := lister.PyTorchJobs("default").List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list what the informer has: %w", err)
	}
	if len(known) < 3 {
		return fmt.Errorf("the informer has %d jobs, want 3", len(known))
	}
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	for _, name := range []string{finished, rejected, scaled} {
		if err := jobs.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete a job: %w", err)
		}
		if err := await(ctx, jobs, name, list.ResourceVersion, func(kind watch.EventType, _ *kubeflow.PyTorchJob) bool { return kind == watch.Deleted }); err != nil {
			return err
		}
		if _, err := jobs.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("a job that is deleted: %v, want 404", err)
		}
	}
	return nil
}

// await waits for an event of a job, from a resource version on; "" means now.
func await(ctx context.Context, jobs typed.PyTorchJobInterface, name, from string, is func(watch.EventType, *kubeflow.PyTorchJob) bool) error {
	events, err := jobs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: from})
	if err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if job, ours := event.Object.(*kubeflow.PyTorchJob); ours && is(event.Type, job) {
			return nil
		}
	}
	return fmt.Errorf("the watch of %s has ended before what it waits for", name)
}

// Hello runs a PyTorchJob and waits until it has succeeded. docs/clients.md shows it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	kubeflow "stoic/clients/go/pkg/apis/kubeflow.org/v1"
	"stoic/clients/go/pkg/client/clientset/versioned"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	jobs, ctx := versioned.NewForConfigOrDie(config).KubeflowV1().PyTorchJobs("default"), context.Background()
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "pytorch", Image: "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime", Command: []string{"torchrun", "train.py"}}}}
	workers := map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{kubeflow.PyTorchJobReplicaTypeWorker: {Template: corev1.PodTemplateSpec{Spec: pod}}}
	_, err = jobs.Create(ctx, &kubeflow.PyTorchJob{ObjectMeta: metav1.ObjectMeta{Name: "hello-go"}, Spec: kubeflow.PyTorchJobSpec{PyTorchReplicaSpecs: workers}}, metav1.CreateOptions{})
	check(err)
	events, err := jobs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=hello-go"})
	check(err)
	for event := range events.ResultChan() {
		if job, is := event.Object.(*kubeflow.PyTorchJob); is && job.Status.CompletionTime != nil {
			fmt.Println(job.Status.Conditions[len(job.Status.Conditions)-1].Type)
			break
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

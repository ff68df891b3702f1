// Command clientgo serves Foos in the pattern of the sample-controller.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"stoic/tools/comparison/generated/clientset"
	foosof "stoic/tools/comparison/generated/informers/externalversions"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file that says how to reach the API server")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Fatalf("read the kubeconfig: %v", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		klog.Fatalf("make a client: %v", err)
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		klog.Fatalf("make a client of Foos: %v", err)
	}
	builtins, foos := informers.NewSharedInformerFactory(kube, 30*time.Second), foosof.NewSharedInformerFactory(client, 30*time.Second)
	c, err := newController(kube, client, builtins.Apps().V1().Deployments(), foos.Comparison().V1().Foos())
	if err != nil {
		klog.Fatalf("watch: %v", err)
	}
	builtins.Start(ctx.Done())
	foos.Start(ctx.Done())
	if err := c.run(ctx, 2); err != nil {
		klog.Fatalf("run: %v", err)
	}
}

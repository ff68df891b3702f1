// Prepare compiles the local control plane into its cache, with progress, so that tests that start one find it there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"stoic/cli/cluster"
)

func main() {
	release := flag.String("kubernetes", "", "release of Kubernetes to compile, such as 1.35 (default: that of localcluster/go.mod)")
	store := flag.String("store", "", "store of the control planes that will be started, as of stoic up: KINE is compiled for every one but etcd")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	program, err := cluster.Build(ctx, cluster.Options{Kubernetes: *release, Store: *store, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(program)
}

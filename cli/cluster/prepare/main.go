// Prepare compiles the local control plane into its cache, with progress, so that tests that start one find it there.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"stoic/cli/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	program, err := cluster.Build(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(program)
}

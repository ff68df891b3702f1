// Command kine is KINE, unchanged: it answers the API server as etcd does, and keeps everything in a database: SQLite in a file,
// PostgreSQL or MariaDB by URL. It is a module of its own, since its modules want another etcd than Kubernetes' do, and is
// compiled only when somebody asks for such a store.
//
//	kine --endpoint sqlite://FILE?... --listen-address 127.0.0.1:PORT ...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/k3s-io/kine/pkg/app"
)

func main() {
	followParent()
	// An interrupt ends the context, which is no failure.
	if err := app.New().Run(os.Args); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "kine:", err)
		os.Exit(1)
	}
}

// followParent ends this process as soon as the supervisor is gone, as every part of the local control plane does: see
// FollowParent in the folder supervise, of another module.
func followParent() {
	if os.Getenv("LOCALCLUSTER_LIFELINE") == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing is ever written; an unreadable pipe means the end as well
		fmt.Fprintln(os.Stderr, "the supervisor is gone, so this part ends too")
		os.Exit(1)
	}()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/command"
	"stoic/cli/manager"
	"stoic/controller"
	"stoic/controller/program"
	"stoic/training/kinds"
)

// operatorUser is the service account that deploy/ binds to the operator's roles.
const operatorUser = "system:serviceaccount:kubeflow:training-operator"

// startOperators runs the operators in this process, each as the user that its manifests bind. If one fails, all end. stopped is closed
// when all have ended, also after an error of this function.
func (s *stage) startOperators(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	start := func(user string, run func(*rest.Config, *zap.Logger) error) error {
		config, err := clientcmd.BuildConfigFromFlags("", s.cluster.UserKubeconfig(user))
		if err != nil {
			return fmt.Errorf("read the kubeconfig of %s: %w", user, err)
		}
		config.QPS, config.Burst = 200, 400
		file, err := os.Create(filepath.Join(s.cluster.Logs(), user+".log"))
		if err != nil {
			return fmt.Errorf("make a log: %w", err)
		}
		flags := program.LogFlags{Level: "info", Encoder: "json"}
		log, err := flags.Logger(file)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		// The file stays open until this process ends: goroutines of client-go may still log when the operator has stopped.
		group.Go(func() error { return run(config, log) })
		return nil
	}
	s.talk.say("starting the operators; their logs are in %s", s.cluster.Logs())
	err := start("operator", func(config *rest.Config, log *zap.Logger) error {
		p := manager.Process{Config: config, Kinds: manager.WithDefaults(kinds.Served()), Threads: 8, EventQPS: manager.DefaultEventQPS,
			Metrics: program.MetricsFlags{Address: s.metrics}, Probes: "0", Log: log}
		return p.Run(ctx)
	})
	for _, g := range s.guests {
		if err == nil {
			err = start(g.name, func(config *rest.Config, log *zap.Logger) error { return g.run(ctx, config, log) })
		}
	}
	s.stopped = make(chan struct{})
	go func() {
		defer close(s.stopped)
		s.failure = group.Wait()
	}()
	return err
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("free the port again: %w", err)
	}
	return listener.Addr().String(), nil
}

// run runs the operator of a guest until ctx ends.
func (g guest) run(ctx context.Context, config *rest.Config, log *zap.Logger) error {
	return program.Process{Registry: program.NewRegistry(), Version: command.Version, UserAgent: g.name, Metrics: program.MetricsFlags{Address: "0"}, Probes: "0",
		Controller: controller.Options{Name: g.name, Config: config, Watches: g.watches, Workers: 2, EventQPS: manager.DefaultEventQPS, Log: log}}.Run(ctx)
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election names the lease by which one of several processes is chosen to write.
type Election struct{ Namespace, Name string }

// errDeposed: the lease was lost. The process ends, for another may be writing already; every write is
// conditional, so that a late one of ours does no harm.
var errDeposed = errors.New("the lease was lost")

// lead calls do once this process may write, and returns when do has returned. Without an election that is at
// once. The lease is held until do has returned, so that a successor starts only when our last write is out.
func (c *Controller) lead(ctx context.Context, do func(context.Context) error) error {
	if c.options.Election == nil {
		return do(ctx)
	}
	elector, started, err := c.elector()
	if err != nil {
		return err
	}
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var electing sync.WaitGroup
	defer electing.Wait()
	lost := make(chan struct{})
	electing.Go(func() {
		defer close(lost)
		elector.Run(holding)
	})
	defer release()

	c.log.Info("waiting for the lease", zap.String("lease", c.options.Election.Namespace+"/"+c.options.Election.Name))
	select {
	case <-ctx.Done():
		return nil
	case <-lost:
		return errDeposed
	case <-started:
	}
	leading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-lost:
			stop()
		case <-leading.Done():
		}
	}()
	err = do(leading)
	if ctx.Err() == nil {
		return errors.Join(err, errDeposed)
	}
	return err
}

func (c *Controller) elector() (*leaderelection.LeaderElector, <-chan struct{}, error) {
	config := rest.CopyConfig(c.options.Config)
	config.QPS, config.Burst, config.RateLimiter = 5, 10, nil // never behind the traffic of the passes
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make the client for the lease: %w", err)
	}
	e := c.options.Election
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.Namespace, e.Name, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: c.options.Identity})
	if err != nil {
		return nil, nil, fmt.Errorf("make the lease %s/%s: %w", e.Namespace, e.Name, err)
	}
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.Name, ReleaseOnCancel: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make the election: %w", err)
	}
	return elector, started, nil
}

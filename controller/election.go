package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election names the lease by which one of several processes is chosen to write.
type Election struct{ Namespace, Name string }

// pace is how a lease is kept. A leader that has failed to renew it for renew stops; others wait for lease.
type pace struct{ lease, renew, retry time.Duration }

// errDeposed: the lease was lost. The process ends, for another may be writing already; every write is
// conditional, so that a late one of ours does no harm.
var errDeposed = errors.New("the lease was lost")

// lead calls do once this process may write, and returns when do has returned. Without an election that is at
// once. leading ends when no more is to be begun; writing ends when not even what has begun may be finished.
//
//	what happens                leading  writing  the lease
//	we are told to stop         ends     goes on  is held until do has returned, then given back: a successor
//	                                              starts when our last write is out, and need not wait
//	the lease is not renewed    ends     ends     is left to run out: nobody starts before it has
//
// The lease is given back here and not by client-go, which does so as soon as a renewal has failed, while the writes
// are still under way, and reports the loss only afterwards.
func (c *Controller) lead(ctx context.Context, do func(leading, writing context.Context) error) error {
	writing, forbid := context.WithCancel(context.WithoutCancel(ctx))
	defer forbid()
	if c.options.Election == nil {
		return do(ctx, writing)
	}
	lock, err := c.lock()
	if err != nil {
		return err
	}
	elector, started, err := c.elector(lock)
	if err != nil {
		return err
	}
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		elector.Run(holding)
	}()
	c.log.Info("waiting for the lease", zap.String("lease", lock.Describe()))
	select {
	case <-ctx.Done():
	case <-lost:
		return errDeposed
	case <-started:
		leading, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			<-lost
			forbid()
			stop()
		}()
		err = do(leading, writing)
	}
	select {
	case <-lost:
		return errors.Join(err, errDeposed)
	default:
	}
	release()
	<-lost
	c.giveBack(lock)
	return err
}

func (c *Controller) lock() (resourcelock.Interface, error) {
	config := rest.CopyConfig(c.options.Config)
	config.QPS, config.Burst, config.RateLimiter = 5, 10, nil // never behind the traffic of the passes
	config.Timeout = c.pace.renew / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for the lease: %w", err)
	}
	e := c.options.Election
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.Namespace, e.Name, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: c.options.Identity})
	if err != nil {
		return nil, fmt.Errorf("make the lease %s/%s: %w", e.Namespace, e.Name, err)
	}
	return lock, nil
}

func (c *Controller) elector(lock resourcelock.Interface) (*leaderelection.LeaderElector, <-chan struct{}, error) {
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: c.options.Election.Name,
		LeaseDuration: c.pace.lease, RenewDeadline: c.pace.renew, RetryPeriod: c.pace.retry,
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

// giveBack empties the lease if it is ours. A renewal whose answer we did not wait for may come in between, so a
// conflict is tried again; if it does not work out the lease runs out by itself.
func (c *Controller) giveBack(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), c.pace.renew/2)
	defer cancel()
	for range 3 {
		record, _, err := lock.Get(ctx)
		if err == nil && record.HolderIdentity != lock.Identity() {
			return
		}
		if err == nil {
			now := metav1.Now()
			record.HolderIdentity, record.LeaseDurationSeconds, record.RenewTime, record.AcquireTime = "", 1, now, now
			err = lock.Update(ctx, *record)
		}
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if !apierrors.IsConflict(err) {
			c.log.Warn("the lease could not be given back; it will run out", zap.Error(err))
			return
		}
	}
}

package election

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

// Lease names the lease by which one of several processes is chosen to write.
type Lease struct{ Namespace, Name string }

// Timing is how a lease is kept. A leader renews it each Retry, and stops if it could not renew it for Renew; others wait for Duration.
// They look at it after Retry and up to 1.2 times as long again, so that they do not all look at the same time.
type Timing struct{ Duration, Renew, Retry time.Duration }

// DefaultTiming lets a standby take over within 3 s of a graceful stop, and within 17 s of the end of a leader that could
// not release the lease.
func DefaultTiming() Timing {
	return Timing{Duration: 12 * time.Second, Renew: 8 * time.Second, Retry: time.Second}
}

// AfterRelease returns how long a standby waits at most once the lease is released.
func (t Timing) AfterRelease() time.Duration {
	return t.Retry + time.Duration(leaderelection.JitterFactor*float64(t.Retry))
}

// AfterKill returns how long a standby waits at most after a leader has ended that could not release the lease. The standby counts
// Duration from when it first sees the last renewal, as clocks differ. It may see that renewal one wait late, and the end of the lease
// another wait late.
func (t Timing) AfterKill() time.Duration { return t.Duration + 2*t.AfterRelease() }

// Election chooses one of several processes.
type Election struct {
	Config   *rest.Config
	Lease    *Lease // nil: this process may write immediately
	Identity string
	Timing   Timing
	Log      *zap.Logger
}

// ErrLeaseLost ends the process, as another may be writing already. Every write is conditional, so that a late one of ours does no harm.
var ErrLeaseLost = errors.New("the lease was lost")

// Lead calls do once this process may write, which is immediately without a lease, and returns when do has returned. The first context of
// do ends when no reconcile may begin any more, the second when not even a running one may finish.
//
//	what happens                leading  writing  the lease
//	ctx ends (graceful stop)    ends     stays    is held until do has returned, then released: a successor starts
//	                                              when our last write is complete, and need not wait
//	the lease is not renewed    ends     ends     expires by itself: no process starts before it has
//
// The lease is released here and not by client-go: client-go releases it as soon as a renewal has failed, while the writes are still
// under way, and reports the loss only afterwards.
func (e *Election) Lead(ctx context.Context, do func(leading, writing context.Context) error) error {
	writing, forbid := context.WithCancel(context.WithoutCancel(ctx))
	defer forbid()
	if e.Lease == nil {
		return do(ctx, writing)
	}
	lock, err := e.lock()
	if err != nil {
		return err
	}
	elector, started, err := e.elector(lock)
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
	e.Log.Info("waiting for the lease", zap.String("lease", lock.Describe()))
	select {
	case <-ctx.Done():
	case <-lost:
		return ErrLeaseLost
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
		return errors.Join(err, ErrLeaseLost)
	default:
	}
	release()
	<-lost
	e.release(lock)
	return err
}

func (e *Election) lock() (resourcelock.Interface, error) {
	config := rest.CopyConfig(e.Config)
	config.QPS, config.Burst, config.RateLimiter = 5, 10, nil // never behind the traffic of the reconciles
	config.Timeout = e.Timing.Renew / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for the lease: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.Lease.Namespace, e.Lease.Name, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: e.Identity})
	if err != nil {
		return nil, fmt.Errorf("make the lease %s/%s: %w", e.Lease.Namespace, e.Lease.Name, err)
	}
	return lock, nil
}

func (e *Election) elector(lock resourcelock.Interface) (*leaderelection.LeaderElector, <-chan struct{}, error) {
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.Lease.Name,
		LeaseDuration: e.Timing.Duration, RenewDeadline: e.Timing.Renew, RetryPeriod: e.Timing.Retry,
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

// release clears the holder of the lease if that is us. A renewal whose answer we did not wait for may come in between, so a conflict is
// retried. If the release fails the lease expires by itself.
func (e *Election) release(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), e.Timing.Renew/2)
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
			e.Log.Warn("the lease could not be released; it expires by itself", zap.Error(err))
			return
		}
	}
}

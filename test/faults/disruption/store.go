package disruption

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/training"
	"stoic/training/kinds"
)

// restored is how long the operator may take after the store was restored.
const restored = 60 * time.Second

// rewound restores the store to its state that many revisions ago, while jobs run, without notice to the operator.
type rewound struct{ by int }

const past = "past" // the namespace

func (w rewound) run(ctx context.Context, env Env) error {
	return on(ctx, env, []string{filepath.Dir(env.crd("x"))}, func(ctx context.Context, g *environment) error {
		if err := g.namespace(ctx, past); err != nil {
			return err
		}
		if err := g.start(ctx); err != nil {
			return err
		}
		saved := atSave()
		if err := g.submit(ctx, saved...); err != nil {
			return err
		}
		for _, j := range saved {
			if err := g.awaitLive(ctx, endLimit, j); err != nil {
				return err
			}
		}
		if err := g.cluster.Save(); err != nil {
			return fmt.Errorf("save the store: %w", err)
		}
		if err := w.future(ctx, g, saved); err != nil {
			return fmt.Errorf("before the store was restored: %w", err)
		}
		if err := g.cluster.Restore(); err != nil {
			return fmt.Errorf("restore the store: %w", err)
		}
		return g.again(ctx, saved)
	})
}

// plain returns the kinds of which workers alone make a job.
func plain() []*training.Kind {
	return slices.DeleteFunc(kinds.All(), func(k *training.Kind) bool {
		return slices.ContainsFunc(k.ReplicaTypes, func(t training.KnownReplicaType) bool { return t.After != "" })
	})
}

// atSave returns the jobs that are in progress when the store is saved: of every kind, half of them forever.
func atSave() []job {
	var jobs []job
	for _, kind := range plain() {
		for n := range 4 {
			jobs = append(jobs, job{kind, past, fmt.Sprintf("%s-%d", kind.Singular, n), 2, time.Duration(n%2) * 5 * time.Second})
		}
	}
	return jobs
}

func late() []job {
	var jobs []job
	for _, kind := range plain() {
		jobs = append(jobs, job{kind, past, kind.Singular + "-late", 2, 100 * time.Millisecond})
	}
	return jobs
}

// future is the time that the restore undoes: saved jobs end, one is deleted, a pod is replaced, other jobs are created and end.
func (w rewound) future(ctx context.Context, g *environment, saved []job) error {
	began, err := g.revision(ctx)
	if err != nil {
		return err
	}
	if err := g.submit(ctx, late()...); err != nil {
		return err
	}
	if _, err := g.awaitEnds(ctx, 2*endLimit, append(late(), saved...)...); err != nil {
		return err
	}
	gone, lost := saved[0], training.ChildName(saved[2].name, "worker", 1)
	if err := g.jobs(gone.kind, past).Delete(ctx, gone.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete %s: %w", gone, err)
	}
	if err := g.typed.CoreV1().Pods(past).Delete(ctx, lost, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s: %w", lost, err)
	}
	if _, err := g.awaitSound(ctx, endLimit, past, append(late(), saved[1:]...)...); err != nil {
		return err
	}
	now, err := g.revision(ctx)
	if err != nil {
		return err
	}
	return g.burn(ctx, w.by-(now-began))
}

// revision returns the revision of the store.
func (g *environment) revision(ctx context.Context) (int, error) {
	list, err := g.typed.CoreV1().ConfigMaps(past).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list config maps: %w", err)
	}
	n := 0
	if _, err := fmt.Sscan(list.ResourceVersion, &n); err != nil {
		return 0, fmt.Errorf("read the revision %q: %w", list.ResourceVersion, err)
	}
	return n, nil
}

// burn makes that many revisions without any meaning.
func (g *environment) burn(ctx context.Context, revisions int) error {
	const writers = 16
	all, ctx := errgroup.WithContext(ctx)
	maps := g.typed.CoreV1().ConfigMaps(past)
	for w := range writers {
		all.Go(func() error {
			name := fmt.Sprintf("burn-%d", w)
			if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("make the config map %s: %w", name, err)
			}
			for n := range revisions/writers + 1 {
				patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)
				if _, err := maps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					return fmt.Errorf("patch the config map %s: %w", name, err)
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// again: every saved job reaches its end again, no pod is left over, and the operator follows current changes.
func (g *environment) again(ctx context.Context, saved []job) error {
	began := time.Now()
	left := func() time.Duration { return restored - time.Since(began) }
	if err := g.submit(ctx, late()...); err != nil {
		return err
	}
	lost := training.ChildName(saved[0].name, "worker", 0)
	if err := g.typed.CoreV1().Pods(past).Delete(ctx, lost, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s: %w", lost, err)
	}
	all := append(late(), saved...)
	if _, err := g.awaitEnds(ctx, left(), all...); err != nil {
		return fmt.Errorf("after the store was restored: %w", err)
	}
	if _, err := g.awaitSound(ctx, left(), past, all...); err != nil {
		return fmt.Errorf("after the store was restored: %w", err)
	}
	live, err := g.sample(ctx, "training_operator_live_reads_total")
	g.Log("all as it must be %s after the store was restored; %v live reads (%v)", time.Since(began).Round(time.Millisecond), live, err)
	return nil
}

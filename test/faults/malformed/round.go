package malformed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// round is a few hundred objects that are stored, judged and deleted together.
type round struct {
	*plane
	objects []*object
	// canaries are how long healthy objects took beside them.
	canaries map[*kind][]time.Duration
	// phases are how long each phase took, for readers.
	phases []string
	began  time.Time
}

// phase ends a phase.
func (r *round) phase(name string) {
	r.phases = append(r.phases, fmt.Sprint(name, " ", time.Since(r.began).Round(time.Second/10)))
	r.began = time.Now()
}

// run runs a round. The violations of one object are kept in it; those of a process, or of all, are returned.
func (r *round) run(ctx context.Context) (found []string, err error) {
	defer func() {
		for _, p := range r.programs {
			p.kill()
		}
	}()
	r.began = time.Now()
	if err := r.store(ctx, r.of(before)); err != nil {
		return nil, err
	}
	r.phase("before the start")
	for _, p := range r.programs {
		if err := p.serve(ctx, ""); err != nil {
			return []string{err.Error()}, nil
		}
	}
	if err := r.beside(ctx, r.of(beside, edited)); err != nil {
		return r.trouble(ctx), err
	}
	r.phase("stored")
	r.settle(ctx)
	r.phase("settled")
	found = append(found, r.restful(ctx)...)
	r.phase("quiet")
	for _, o := range r.objects {
		if o.uid != "" && o.refusal == "" && len(o.found) == 0 {
			o.found = o.judge(r.sight.see(o.uid))
		}
	}
	if err := r.repair(ctx); err != nil {
		return append(found, r.trouble(ctx)...), err
	}
	r.phase("repaired")
	found = append(found, r.trouble(ctx)...)
	if err := r.goes(ctx); err != nil {
		found = append(found, err.Error())
	}
	r.phase("gone")
	for _, p := range r.programs {
		if err := p.end(ctx); err != nil {
			found = append(found, err.Error())
		}
	}
	r.sight.forget()
	return found, nil
}

// of returns the objects that become malformed in one of these ways.
func (r *round) of(ways ...way) (all []*object) {
	for _, o := range r.objects {
		if slices.Contains(ways, o.way) {
			all = append(all, o)
		}
	}
	return all
}

// beside stores objects while healthy ones are timed.
func (r *round) beside(ctx context.Context, all []*object) error {
	over := make(chan struct{})
	var timing sync.WaitGroup
	var failed error
	timing.Go(func() { r.canaries, failed = r.timeHealthy(ctx, over) })
	err := r.store(ctx, all)
	close(over)
	timing.Wait()
	return errors.Join(err, failed)
}

// settle waits until every object has reached its end, as long as any still changes. In the others it records what is missing.
func (r *round) settle(ctx context.Context) {
	left, missing := 0, map[*object]string{}
	err := r.await(ctx, "all objects to come to their ends", func() (bool, string) {
		left = 0
		for _, o := range r.objects {
			if o.uid == "" || o.refusal != "" || !o.settled.IsZero() || len(o.found) > 0 {
				continue
			}
			ok, why := o.ended(r.sight.see(o.uid))
			if ok {
				o.settled = time.Now()
				continue
			}
			left++
			missing[o] = why
		}
		return left == 0, fmt.Sprintf("%d are left", left)
	})
	if err == nil {
		return
	}
	for o, why := range missing {
		if o.settled.IsZero() && len(o.found) == 0 {
			o.found = append(o.found, "it comes to no end: "+why)
		}
	}
}

// restful checks that no work is left, and that nothing is written any longer.
func (r *round) restful(ctx context.Context) (found []string) {
	err := r.await(ctx, "all queues to be empty and nothing to be written", func() (bool, string) {
		text := ""
		for _, p := range r.programs {
			idle, saw := p.idle(ctx)
			if !idle {
				text += saw + "; "
			}
		}
		return text == "" && r.sight.quiet() > 2*time.Second, text
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

func (r *round) trouble(ctx context.Context) (found []string) {
	for _, p := range r.programs {
		if p.process != nil {
			found = append(found, p.trouble(ctx, len(r.objects))...)
		}
	}
	return found
}

// repair repairs, as the user, what was rejected after an update.
func (r *round) repair(ctx context.Context) error {
	var repaired []*object
	for _, o := range r.of(edited) {
		if o.uid == "" || o.refusal != "" || len(o.found) > 0 || o.said.Rejection == nil {
			continue
		}
		if err := r.update(ctx, o, o.valid); err != nil {
			return err
		}
		o.repaired = true
		repaired = append(repaired, o)
	}
	r.settle(ctx)
	for _, o := range repaired {
		if s := r.sight.see(o.uid); len(o.found) == 0 && o.said.Rejection != nil {
			o.found = append(o.found, fmt.Sprintf("it is repaired, and rejected: %v", o.said.Rejection.Problems))
		} else if len(o.found) == 0 {
			o.found = append(o.found, o.judge(s)...)
		}
	}
	return nil
}

// goes deletes all objects and waits until they no longer exist, with all that they own.
func (r *round) goes(ctx context.Context) error {
	if err := r.remove(ctx, r.objects); err != nil {
		return err
	}
	ours := map[types.UID]bool{}
	for _, o := range r.objects {
		if o.uid != "" {
			ours[o.uid] = true
		}
	}
	err := r.await(ctx, "all objects to go when they are deleted", func() (bool, string) {
		left := 0
		for _, o := range r.objects {
			if o.uid != "" && !r.sight.see(o.uid).gone {
				left++
			}
		}
		return left == 0, fmt.Sprintf("%d are left", left)
	})
	if err != nil {
		for _, o := range r.objects {
			if s := r.sight.see(o.uid); o.uid != "" && !s.gone {
				o.found = append(o.found, fmt.Sprintf("it does not go when it is deleted: %v", s.object.Object["metadata"]))
			}
		}
		return nil
	}
	return r.await(ctx, "what deleted objects own to go", func() (bool, string) {
		left := 0
		for _, p := range r.programs {
			for _, o := range p.operators {
				for _, resource := range o.Dependents {
					list, err := r.client.Resource(resource).List(ctx, metav1.ListOptions{})
					if err != nil {
						return false, err.Error()
					}
					for i := range list.Items {
						if ours[o.Rules.Owner(&list.Items[i])] {
							left++
						}
					}
				}
			}
		}
		return left == 0, fmt.Sprintf("%d are left", left)
	})
}

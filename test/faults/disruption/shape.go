package disruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/operator"
	"stoic/test/served"
	"stoic/training"
	"stoic/training/kinds"
)

const (
	tfJobs = "tfjobs.kubeflow.org"
	shapes = "shapes" // the namespace
	// repairLimit is how long the operator may take after a repair.
	repairLimit = 10 * time.Second
	// outage is how long something is broken: long enough for back-offs to have grown.
	outage = 25 * time.Second
)

// under runs a plan on a control plane with one changed CRD, a running operator and a canary of the other kind.
func under(ctx context.Context, env Env, change func(*unstructured.Unstructured), do func(context.Context, *environment) error) error {
	return on(ctx, env, []string{env.crd("pytorchjobs")}, func(ctx context.Context, g *environment) error {
		object, err := served.Definition(env.crd("tfjobs"))
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{Object: object}
		change(crd)
		if _, err := g.install(ctx, crd); err != nil {
			return err
		}
		if err := g.namespace(ctx, shapes); err != nil {
			return err
		}
		if err := g.start(ctx); err != nil {
			return err
		}
		return g.besideCanary(ctx, func() error { return do(ctx, g) })
	})
}

func setStatus(with bool) func(*unstructured.Unstructured) {
	return func(crd *unstructured.Unstructured) {
		for _, version := range versions(crd) {
			delete(version, "subresources")
			if with {
				version["subresources"] = map[string]any{"status": map[string]any{}}
			}
		}
	}
}

// statusAdded: a CRD without the status subresource, as in old manifests, gets one.
func statusAdded(ctx context.Context, env Env) error {
	return under(ctx, env, setStatus(false), func(ctx context.Context, g *environment) error {
		j := job{kinds.TFJob(), shapes, "mute", 2, 100 * time.Millisecond}
		if err := g.submit(ctx, j); err != nil {
			return err
		}
		if _, err := g.await(ctx, endLimit, "an event that says that there is no status subresource", func(ctx context.Context) (bool, string) {
			events, err := g.typed.CoreV1().Events(shapes).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.name=" + j.name})
			return err == nil && len(events.Items) > 0, fmt.Sprint(err)
		}); err != nil {
			return err
		}
		wait(ctx, outage)
		if err := g.sound(ctx, shapes); err != nil {
			return fmt.Errorf("nothing can be recorded, so nothing may be done: %w", err)
		}
		if err := g.change(ctx, tfJobs, setStatus(true)); err != nil {
			return err
		}
		took, err := g.awaitEnds(ctx, repairLimit, j)
		g.Log("the job was over %s after there was a status subresource", took.Round(time.Millisecond))
		return err
	})
}

// older is the version that is stored beside v1.
const older = "v0"

func storeOlder(crd *unstructured.Unstructured) {
	versions(crd)[0]["storage"] = false
	another(crd, older, true)
}

func (g *environment) convertBy(ctx context.Context, conversion map[string]any) error {
	return g.change(ctx, tfJobs, func(crd *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(crd.Object, conversion, "spec", "conversion") // spec is a map: the API server says so
	})
}

// deadWebhook returns a conversion by an address where no server listens.
func deadWebhook() (map[string]any, error) {
	address, err := operator.Address()
	if err != nil {
		return nil, err
	}
	url := "https://" + address + "/convert"
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": url}}}, nil
}

// conversionDead: no TFJob can be read, as the webhook that converts them does not exist; then nothing needs conversion any longer.
func conversionDead(ctx context.Context, env Env) error {
	return under(ctx, env, storeOlder, conversionFails{stored: older,
		breaks: func(ctx context.Context, g *environment) error {
			webhook, err := deadWebhook()
			if err != nil {
				return err
			}
			return g.convertBy(ctx, webhook)
		},
		repairs: func(ctx context.Context, g *environment) error {
			return g.convertBy(ctx, map[string]any{"strategy": "None"})
		},
	}.run)
}

// conversionKilled: our own webhook converts every TFJob that the operator reads, and is killed for a while.
func conversionKilled(ctx context.Context, env Env) error {
	return under(ctx, env, flip(converting, true), conversionFails{stored: converting,
		breaks:  func(context.Context, *environment) error { return env.webhook.kill() },
		repairs: func(ctx context.Context, _ *environment) error { return env.webhook.start(ctx) },
	}.run)
}

// conversionFails for a while: no job that is stored in another version than v1 can be read.
type conversionFails struct {
	stored          string
	breaks, repairs func(context.Context, *environment) error
}

func (c conversionFails) run(ctx context.Context, g *environment) error {
	before := job{kinds.TFJob(), shapes, "before", 2, 0}
	if err := g.submit(ctx, before); err != nil {
		return err
	}
	if _, err := g.awaitEnds(ctx, endLimit, before); err != nil {
		return err
	}
	if err := c.breaks(ctx, g); err != nil {
		return err
	}
	during := job{kinds.TFJob(), shapes, "during", 2, 100 * time.Millisecond}
	if err := g.create(ctx, c.stored, during); err != nil { // an object in the stored version needs no conversion
		return fmt.Errorf("submit %s as %s: %w", during, c.stored, err)
	}
	wait(ctx, outage)
	if _, err := g.state(ctx, during); err == nil {
		return errors.New("the job can be read: this plan broke nothing")
	}
	if err := c.repairs(ctx, g); err != nil {
		return err
	}
	took, err := g.awaitEnds(ctx, repairLimit, during, before)
	g.Log("the job was over %s after jobs could be converted again", took.Round(time.Millisecond))
	if err != nil {
		return err
	}
	_, err = g.awaitSound(ctx, endLimit, shapes, before, during)
	return err
}

// flip returns an edit that sets the stored version, and whether v1 is served.
func flip(stored string, served bool) func(*unstructured.Unstructured) {
	return func(crd *unstructured.Unstructured) {
		if len(versions(crd)) == 1 {
			another(crd, "v2", false)
		}
		for _, version := range versions(crd) {
			version["storage"] = version["name"] == stored
			if version["name"] == "v1" {
				version["served"] = served
			}
		}
	}
}

// flipped changes the stored version between v1 and another, several times, and for a while v1 is not served. A kind without
// another version gets one.
type flipped struct{ other string }

func (f flipped) run(ctx context.Context, env Env) error {
	return under(ctx, env, func(*unstructured.Unstructured) {}, func(ctx context.Context, g *environment) error {
		stays := job{kinds.TFJob(), shapes, "stays", 2, 0}
		jobs := []job{stays}
		if err := g.submit(ctx, stays); err != nil {
			return err
		}
		for n, stored := range []string{"v1", f.other, "v1", f.other} {
			if err := g.change(ctx, tfJobs, flip(stored, true)); err != nil {
				return err
			}
			jobs = append(jobs, job{kinds.TFJob(), shapes, fmt.Sprintf("flip-%d", n), 1, 100 * time.Millisecond})
			if err := g.goesOn(ctx, stays, jobs...); err != nil {
				return fmt.Errorf("flip %d, stored as %s: %w", n, stored, err)
			}
		}
		if err := g.change(ctx, tfJobs, flip(f.other, false)); err != nil {
			return err
		}
		if _, err := g.await(ctx, recoveryLimit, "the operator to see that v1 is not served", func(ctx context.Context) (bool, string) {
			n, err := g.sample(ctx, `training_operator_kind_served{kind="TFJob"}`)
			return err == nil && n == 0, fmt.Sprint(n, err)
		}); err != nil {
			return err
		}
		if err := g.change(ctx, tfJobs, flip(f.other, true)); err != nil {
			return err
		}
		jobs = append(jobs, job{kinds.TFJob(), shapes, "last", 1, 100 * time.Millisecond})
		return g.goesOn(ctx, stays, jobs...)
	})
}

// goesOn submits the last of the jobs, deletes a pod of the one that stays, and waits until all is well.
func (g *environment) goesOn(ctx context.Context, stays job, jobs ...job) error {
	if err := g.submit(ctx, jobs[len(jobs)-1]); err != nil {
		return err
	}
	pod := training.ChildName(stays.name, "worker", 0)
	if err := g.typed.CoreV1().Pods(stays.namespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s: %w", pod, err)
	}
	if _, err := g.awaitEnds(ctx, endLimit, jobs...); err != nil {
		return err
	}
	_, err := g.awaitSound(ctx, endLimit, stays.namespace, jobs...)
	return err
}

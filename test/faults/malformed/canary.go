package malformed

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// healthyObject returns an object of one of the valid manifests, to be stored beside all malformed ones.
func (p *plane) healthyObject(k *kind, base int) (*object, error) {
	p.names++
	places := scenario.Places{Namespace: quietSpace, Elsewhere: farSpace}
	u, err := scenario.Fill(k.Valid[base], places, k.Cluster, fmt.Sprintf("h%06d", p.names))
	if err != nil {
		return nil, err
	}
	return &object{kind: k, choice: choice{base: base}, places: places, valid: u.Object, spoiled: u.Object}, nil
}

// learn finds the end state of valid objects, and how many versions and events it takes.
func (p *plane) learn(ctx context.Context) error {
	var all []*object
	for _, k := range p.kinds {
		k.healthy = make([]healthy, len(k.Valid))
		for base := range k.Valid {
			o, err := p.healthyObject(k, base)
			if err == nil {
				err = p.create(ctx, o)
			}
			if err != nil {
				return err
			}
			all = append(all, o)
		}
	}
	for _, o := range all {
		if err := p.learnFrom(ctx, o); err != nil {
			return err
		}
	}
	for _, k := range p.kinds {
		if err := k.mutate(scenario.Places{Namespace: space(0), Elsewhere: farSpace}); err != nil {
			return err
		}
	}
	return p.remove(ctx, all)
}

// learnFrom learns from a valid object, once no object changes any longer.
func (p *plane) learnFrom(ctx context.Context, o *object) error {
	var last seen
	err := p.await(ctx, "a valid object of "+o.kind.name+" to come to its end", func() (bool, string) {
		if last = p.sight.see(o.uid); last.object == nil {
			return false, "nothing"
		}
		ok := observed(last.object) == o.generation && history.State(last.object).Type != "" && !history.Is(last.object, "Stalled")
		return ok && p.sight.quiet() > 2*time.Second, fmt.Sprint(last.versions, last.object.Object["status"])
	})
	if err != nil {
		return err
	}
	if last.reported(needless) {
		return fmt.Errorf("nothing is wrong with an object of %s, and its author is warned: %v", o.kind.name, last.events)
	}
	h := healthy{state: history.State(last.object).Type, versions: last.versions, events: len(last.events)}
	h.status, _ = last.object.Object["status"].(map[string]any)
	o.healthy[o.base] = h
	return nil
}

func (p *plane) create(ctx context.Context, o *object) error {
	u, err := send(ctx, p.collection(p.raw.Post(), o.kind, o.places.Namespace).Body(body(o.valid, "")))
	if err != nil {
		return fmt.Errorf("create a valid object of %s: %w", o.kind.name, err)
	}
	o.is(u)
	return nil
}

// progress returns what changes while a healthy object, the only one in its namespace, is not at its end. While its pods wait for a
// scheduler, or for nodes, that are busy with other pods, the starts of those count as progress: the operator has no part in the delay.
func (p *plane) progress(s seen) string {
	text := fmt.Sprintf("%d versions", s.versions)
	if waits, started := p.sight.waiting(quietSpace); waits {
		text += fmt.Sprintf("; its pods wait, as %d did that have started", started)
	}
	return text
}

// slow is from what duration on a healthy object is reported: it may have waited for a back-off, or for a cache.
const slow = 5 * time.Second

// describe describes the current state of an object in a line: its conditions, what it owns, and the events about it.
func (p *plane) describe(ctx context.Context, o *object) string {
	var b strings.Builder
	s := p.sight.see(o.uid)
	if s.object != nil {
		b.WriteString("it is" + conditions(s.object))
	}
	for _, resource := range o.Operator.Dependents {
		list, err := p.client.Resource(resource).Namespace(o.places.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Fprintf(&b, "; %v", err)
			continue
		}
		for i := range list.Items {
			if u := &list.Items[i]; o.Operator.Rules.Owner(u) == o.uid {
				fmt.Fprintf(&b, "; %s %s, created %s%s", u.GetKind(), u.GetName(), u.GetCreationTimestamp().UTC().Format(time.TimeOnly), conditions(u))
			}
		}
	}
	for _, e := range s.events {
		fmt.Fprintf(&b, "; %s %s (%d times): %s", e.kind, e.reason, e.count, e.message)
	}
	return clip(strings.ToValidUTF8(b.String(), "?"), 4000)
}

// conditions returns the conditions of an object that are True, each with its time, and the messages of the others.
func conditions(u *unstructured.Unstructured) string {
	var b strings.Builder
	for _, c := range history.Conditions(u) {
		switch {
		case c.Status == "True":
			fmt.Fprintf(&b, ", %s since %s", c.Type, c.Changed)
		case c.Message != "":
			fmt.Fprintf(&b, ", not %s: %s", c.Type, c.Message)
		}
	}
	return b.String()
}

// timeHealthy times healthy objects of all kinds, one after the other, until over is closed and each kind had one. It returns how
// long each took, by kind.
func (p *plane) timeHealthy(ctx context.Context, over <-chan struct{}) (took map[*kind][]time.Duration, err error) {
	took = map[*kind][]time.Duration{}
	for {
		for _, k := range p.kinds {
			began := time.Now()
			o, err := p.healthyObject(k, 0)
			if err != nil {
				return nil, err
			}
			if err := p.create(ctx, o); err != nil {
				return nil, err
			}
			if err := p.await(ctx, "a healthy object of "+k.name, func() (bool, string) {
				s := p.sight.see(o.uid)
				return s.object != nil && observed(s.object) == o.generation && history.State(s.object).Type == k.healthy[0].state, p.progress(s)
			}); err != nil {
				return nil, fmt.Errorf("%w; %s", err, p.describe(ctx, o))
			}
			took[k] = append(took[k], time.Since(began))
			if last := took[k][len(took[k])-1]; last > slow {
				p.Say("G7: healthy %s %s took %v: %s", k.name, o.id(), last.Round(time.Second/10), p.describe(ctx, o))
			}
			if err := p.remove(ctx, []*object{o}); err != nil {
				return nil, err
			}
		}
		select {
		case <-over:
			return took, nil
		default:
		}
	}
}

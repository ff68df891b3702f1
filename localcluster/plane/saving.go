package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// errElsewhere: whoever runs a database has its own ways to save and to restore it.
var errElsewhere = errors.New("the store is a database that this program does not run: save and restore it with its own tools")

// save puts the store aside as it is now. The store is killed for that: what is
// in its files then is what it would find after a crash, and it comes back at
// its old port. The other parts see an outage of about a second.
func (p *plane) save(ctx context.Context) error {
	if p.options.isElsewhere() {
		return errElsewhere
	}
	if p.index(store) < 0 || p.index(apiserver) < 0 {
		return fmt.Errorf("save the store: %s and %s must run", store, apiserver)
	}
	if err := p.kill(store); err != nil {
		return err
	}
	copied := replace(p.layout.saved(), p.layout.data(p.options))
	if err := p.begin(ctx, store); err != nil {
		return errors.Join(copied, err)
	}
	if err := p.storeIsBack(ctx); err != nil {
		return errors.Join(copied, err)
	}
	p.say("the store is saved")
	return copied
}

// storeIsBack waits until the API server answers from a store that was away, and
// starts the simulated kubelets anew. What they report while there is no store is
// answered with 500, which they take for final: such a pod would run for ever.
func (p *plane) storeIsBack(ctx context.Context) error {
	if err := p.awaitStore(ctx); err != nil {
		return err
	}
	if p.index(kubelets) < 0 {
		return nil
	}
	if err := p.kill(kubelets); err != nil {
		return err
	}
	return p.begin(ctx, kubelets)
}

// restore puts the saved store back. As after every restore of etcd the parts
// of the control plane are started anew: their caches hold a future that never
// was. Whoever else has such caches is not told.
func (p *plane) restore(ctx context.Context) error {
	if p.options.isElsewhere() {
		return errElsewhere
	}
	if _, err := os.Stat(p.layout.saved()); err != nil {
		return fmt.Errorf("restore the store: nothing was saved: %w", err)
	}
	for _, part := range slices.Backward(p.options.parts()) {
		if p.index(part) < 0 {
			continue
		}
		if err := p.kill(part); err != nil {
			return err
		}
	}
	if err := replace(p.layout.data(p.options), p.layout.saved()); err != nil {
		return err
	}
	if err := p.startServer(ctx); err != nil {
		return err
	}
	if err := p.startRest(ctx); err != nil {
		return err
	}
	p.say("the store is restored")
	return nil
}

// replace makes one folder a copy of another.
func replace(folder, from string) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove an old copy of the store: %w", err)
	}
	if err := os.CopyFS(folder, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	// The store wants its folder for itself.
	if err := os.Chmod(folder, 0o700); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	return nil
}

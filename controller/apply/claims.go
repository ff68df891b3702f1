package apply

import (
	"context"
	"slices"

	"stoic/schema"
)

// mayAdopt removes the patches that make the owner the controller of another object, unless the API server confirms now that the owner is
// as it was seen. A watch that lags may still show an owner that was deleted without its dependents (propagation policy Orphan), and the
// dependents have no controller by then. If it adopted them, garbage collection would delete them.
func (a *Applier) mayAdopt(ctx context.Context, head *schema.Head, version string, patches []schema.Patch) ([]schema.Patch, error) {
	adopts := func(p schema.Patch) bool { return p.Adopts }
	if !slices.ContainsFunc(patches, adopts) {
		return patches, nil
	}
	err := a.isAsSeen(ctx, head, version)
	if err != nil {
		patches = slices.DeleteFunc(slices.Clone(patches), adopts) // a plan is not changed
	}
	return patches, err
}

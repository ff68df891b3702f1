package apply

import (
	"context"
	"slices"

	"stoic/schema"
)

// mayAdopt leaves the patches out that make the owner the controller of another object, unless the API server says just now that
// the owner is as it was seen. An owner that was deleted without its dependents (propagation policy Orphan) is still shown by a
// watch that lags while its dependents have no controller yet; what it adopted then, garbage collection would take.
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

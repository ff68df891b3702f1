package cache

import "stoic/schema"

// OfChild returns the cached children of a child: see Owned.Through.
func (d *Dependents) OfChild(owner *schema.Child) (found []schema.Child) {
	informer := d.informer.Load()
	if informer == nil {
		return nil
	}
	objects, err := (*informer).GetIndexer().ByIndex(byOwner, string(owner.UID))
	if err != nil {
		return nil // as in Of
	}
	for _, obj := range objects {
		if c, ok := obj.(*child); ok && c.Namespace == owner.Namespace {
			found = append(found, c.through(owner.UID))
		}
	}
	return found
}

// OwnerOf returns the owner of a cached child that is itself an owner. A child that is not cached yet has its own event
// still to come, which wakes its owner.
func (d *Dependents) OwnerOf(o Owner) Owner {
	informer := d.informer.Load()
	if informer == nil || !o.Is(d.Resource) {
		return Owner{}
	}
	key := o.Namespace + "/" + o.Name
	if d.Resource.Cluster {
		key = o.Name
	}
	obj, _, err := (*informer).GetStore().GetByKey(key)
	if c, ok := obj.(*child); err == nil && ok && c.UID == o.UID {
		return c.owner()
	}
	return Owner{}
}

package convert

import (
	"stoic/convert"
	"stoic/training"
)

// head reads what can be read of any object.
func (r *reader) head(raw map[string]any) *training.Head {
	head := &training.Head{Kind: r.kind}
	head.Meta = convert.Meta(raw)
	meta, _ := raw["metadata"].(map[string]any)
	head.Status = statusOf(r.kind, raw["status"])
	head.Ledger = ledgerOf(r.kind, head.Meta.UID, meta["annotations"])
	head.ManagedBy = managerOf(raw)
	return head
}

// managerOf is the other controller that the API allows to run an object, if the object names it.
func managerOf(raw map[string]any) string {
	spec, _ := raw["spec"].(map[string]any)
	policy, _ := spec["runPolicy"].(map[string]any)
	if manager, _ := policy["managedBy"].(string); manager == training.ManagedByMultiKueue {
		return manager
	}
	return ""
}

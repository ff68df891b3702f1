package convert

import (
	"stoic/convert"
	"stoic/training"
)

// head returns what can be read from any object.
func (r *reader) head(raw map[string]any) *training.Head {
	head := &training.Head{Kind: r.kind}
	head.Meta = convert.Meta(raw)
	meta, _ := raw["metadata"].(map[string]any)
	head.Status = statusOf(r.kind, raw["status"])
	head.Ledger = ledgerOf(r.kind, head.Meta.UID, meta["annotations"])
	head.ManagedBy = managerOf(raw)
	return head
}

// managerOf returns the only other controller that the API allows, if the object names it; else "".
func managerOf(raw map[string]any) string {
	spec, _ := raw["spec"].(map[string]any)
	policy, _ := spec["runPolicy"].(map[string]any)
	if manager, _ := policy["managedBy"].(string); manager == training.ManagedByMultiKueue {
		return manager
	}
	return ""
}

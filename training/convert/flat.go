package convert

import (
	"reflect"
	"slices"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// flatFields of the run policy were fields of the spec in the first v1 of some kinds.
func flatFields() []string {
	return []string{"activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished"}
}

// saysPolicy: a value stands there, and not one that stands for none.
func saysPolicy(key string, raw any) bool {
	return raw != nil && (key != "cleanPodPolicy" || raw != "")
}

// isFlat: the field of the spec is one of the run policy, for which Kind.FlatPolicy has a meaning.
func (r *reader) isFlat(key string, raw any) bool {
	return r.kind.FlatPolicy && slices.Contains(flatFields(), key) && saysPolicy(key, raw)
}

// flat takes into the policy what stands in the spec and not in spec.runPolicy. It is checked as it would be there; what has no effect
// is not checked.
func (r *reader) flat(raw map[string]any, policy *training.RunPolicy) {
	if !slices.ContainsFunc(flatFields(), func(key string) bool { return r.isFlat(key, raw[key]) }) {
		return // as nearly always, at no cost
	}
	nested, _ := raw["runPolicy"].(map[string]any)
	shape := shapes.Of(reflect.TypeFor[training.RunPolicySpec]())
	var spec training.RunPolicySpec
	for _, key := range flatFields() {
		value := raw[key]
		if !r.isFlat(key, value) {
			continue
		}
		hint := "it is used only where the CRD declares it here; move it to `spec.runPolicy`"
		before := r.Count()
		if saysPolicy(key, nested[key]) {
			hint = "it is not used, as `spec.runPolicy." + key + "` is set"
		} else {
			r.Member(shape, raw, key, value, reflect.ValueOf(&spec).Elem())
		}
		if r.Count() > before {
			continue
		}
		if r.Enter(key); !r.WarningsFull() {
			r.Warning(schema.MisplacedField, convert.Found(value), "", hint)
		}
		r.Leave()
	}
	flat := policyOf(spec)
	if flat.CleanPods != "" {
		policy.CleanPods = flat.CleanPods
	}
	for _, limits := range [][2]*training.Limit{{&policy.TTL, &flat.TTL}, {&policy.Deadline, &flat.Deadline}, {&policy.Backoff, &flat.Backoff}} {
		if limits[1].Set {
			*limits[0] = *limits[1]
		}
	}
}

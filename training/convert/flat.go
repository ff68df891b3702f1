package convert

import (
	"reflect"
	"slices"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// flatFields returns the fields of the run policy that were fields of the spec in the first v1 of some kinds.
func flatFields() []string {
	return []string{"activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished"}
}

// saysPolicy reports whether a value is set. An empty cleanPodPolicy counts as unset.
func saysPolicy(key string, raw any) bool {
	return raw != nil && (key != "cleanPodPolicy" || raw != "")
}

// isFlat reports whether a set field of the spec belongs to the run policy, by Kind.FlatPolicy.
func (r *reader) isFlat(key string, raw any) bool {
	return r.kind.FlatPolicy && slices.Contains(flatFields(), key) && saysPolicy(key, raw)
}

// flat merges flat fields of the spec into the policy where spec.runPolicy does not set them. They are checked like those of
// spec.runPolicy. Flat fields without effect are not checked.
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

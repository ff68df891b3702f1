package convert

import (
	"reflect"
	"slices"
	"strconv"

	"stoic/schema"
)

// policy brings the run policy to normal form, and checks what its types do not say.
func (r *reader) policy(raw any) schema.RunPolicy {
	var spec schema.RunPolicySpec
	r.walk(shapeOf(reflect.TypeFor[schema.RunPolicySpec]()), raw, reflect.ValueOf(&spec).Elem())
	fields, _ := raw.(map[string]any)
	policy := schema.RunPolicy{
		CleanPods: schema.CleanNone,
		TTL:       limit(r, "ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished),
		Deadline:  limit(r, "activeDeadlineSeconds", spec.ActiveDeadlineSeconds),
		Backoff:   limit(r, "backoffLimit", spec.BackoffLimit),
		Suspend:   spec.Suspend != nil && *spec.Suspend,
	}
	if clean := spec.CleanPodPolicy; clean != nil && *clean != "" {
		policy.CleanPods = schema.CleanPodPolicy(*clean)
		if words := schema.CleanPodPolicies(); !slices.Contains(words, *clean) {
			r.choice("cleanPodPolicy", *clean, words)
		}
	}
	if manager := spec.ManagedBy; manager != nil && *manager != schema.ManagedByUs && *manager != schema.ManagedByMultiKueue {
		r.problemIn("managedBy", schema.InvalidValue, schema.Quote(*manager),
			oneOf([]string{schema.ManagedByUs, schema.ManagedByMultiKueue}), "leave it out for this operator")
	}
	if gang := spec.SchedulingPolicy; gang != nil {
		r.enter("schedulingPolicy")
		fields, _ := fields["schedulingPolicy"].(map[string]any)
		policy.Scheduling = schema.Scheduling{
			MinAvailable:   limit(r, "minAvailable", gang.MinAvailable),
			Queue:          gang.Queue,
			PriorityClass:  gang.PriorityClass,
			TimeoutSeconds: limit(r, "scheduleTimeoutSeconds", gang.ScheduleTimeoutSeconds),
			MinResources:   minResources(fields),
		}
		r.leave()
	}
	return policy
}

// minResources as the author wrote them; that they are quantities is known by now, or told.
func minResources(fields map[string]any) map[string]string {
	raw, _ := fields["minResources"].(map[string]any)
	if len(raw) == 0 {
		return nil
	}
	resources := make(map[string]string, len(raw))
	for name, value := range raw {
		resources[name], _ = written(value)
	}
	return resources
}

// limit is an optional number of at least 0.
func limit[N int32 | int64](r *reader, key string, value *N) schema.Limit {
	if value == nil {
		return schema.Limit{}
	}
	if *value < 0 {
		r.problemIn(key, schema.OutOfRange, "number "+strconv.FormatInt(int64(*value), 10), "be greater than or equal to 0", "")
	}
	return schema.Limit{Set: true, Value: int64(*value)}
}

package convert

import (
	"reflect"

	"stoic/schema"
)

// policy brings the run policy to normal form, and checks what its types do not say.
func (r *reader) policy(raw any) schema.RunPolicy {
	var spec schema.RunPolicySpec
	r.walk(shapeOf(reflect.TypeFor[schema.RunPolicySpec]()), raw, reflect.ValueOf(&spec).Elem())
	fields, _ := raw.(map[string]any)
	policy := schema.RunPolicy{
		CleanPods: schema.CleanNone,
		TTL:       limit(spec.TTLSecondsAfterFinished),
		Deadline:  limit(spec.ActiveDeadlineSeconds),
		Backoff:   limit(spec.BackoffLimit),
		Suspend:   spec.Suspend != nil && *spec.Suspend,
	}
	if clean := spec.CleanPodPolicy; clean != nil && *clean != "" {
		policy.CleanPods = schema.CleanPodPolicy(*clean)
	}
	if manager := spec.ManagedBy; manager != nil && *manager != schema.ManagedByUs && *manager != schema.ManagedByMultiKueue {
		r.problemIn("managedBy", schema.InvalidValue, schema.Quote(*manager),
			oneOf([]string{schema.ManagedByUs, schema.ManagedByMultiKueue}), "leave it out for this operator")
	}
	if gang := spec.SchedulingPolicy; gang != nil {
		r.enter("schedulingPolicy")
		fields, _ := fields["schedulingPolicy"].(map[string]any)
		policy.Scheduling = schema.Scheduling{
			MinAvailable:   limit(gang.MinAvailable),
			Queue:          gang.Queue,
			PriorityClass:  gang.PriorityClass,
			TimeoutSeconds: limit(gang.ScheduleTimeoutSeconds),
			MinResources:   r.minResources(fields),
		}
		r.leave()
	}
	return policy
}

// minResources as the author wrote them; that they are quantities is known by now, or told.
func (r *reader) minResources(fields map[string]any) map[string]string {
	raw, _ := fields["minResources"].(map[string]any)
	if len(raw) == 0 {
		return nil
	}
	r.enter("minResources")
	defer r.leave()
	resources := make(map[string]string, len(raw))
	for name, value := range raw {
		if name != "pods" { // which gang schedulers count, too
			r.amount(name, value)
		}
		resources[name], _ = written(value)
	}
	return resources
}

// limit is an optional number, in range by now.
func limit[N int32 | int64](value *N) schema.Limit {
	if value == nil {
		return schema.Limit{}
	}
	return schema.Limit{Set: true, Value: int64(*value)}
}

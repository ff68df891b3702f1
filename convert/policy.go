package convert

import (
	"slices"
	"strconv"

	"stoic/schema"
)

// policy checks what the types of a run policy do not say, and brings it to normal form.
func (r *reader) policy(p *path, spec *schema.RunPolicySpec, raw map[string]any) schema.RunPolicy {
	policy := schema.RunPolicy{
		CleanPods: schema.CleanNone,
		TTL:       limit(r, p, "ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished),
		Deadline:  limit(r, p, "activeDeadlineSeconds", spec.ActiveDeadlineSeconds),
		Backoff:   limit(r, p, "backoffLimit", spec.BackoffLimit),
		Suspend:   spec.Suspend != nil && *spec.Suspend,
	}
	if clean := spec.CleanPodPolicy; clean != nil && *clean != "" {
		policy.CleanPods = schema.CleanPodPolicy(*clean)
		if words := schema.CleanPodPolicies(); !slices.Contains(words, *clean) {
			step := p.field("cleanPodPolicy")
			r.choice(&step, *clean, words)
		}
	}
	if manager := spec.ManagedBy; manager != nil && *manager != schema.ManagedByUs {
		policy.ManagedBy = *manager
		if *manager != schema.ManagedByMultiKueue {
			step := p.field("managedBy")
			r.problem(&step, schema.InvalidValue, schema.Quote(*manager),
				oneOf([]string{schema.ManagedByUs, schema.ManagedByMultiKueue}), "leave it out for this operator")
		}
	}
	if gang := spec.SchedulingPolicy; gang != nil {
		step := p.field("schedulingPolicy")
		fields, _ := raw["schedulingPolicy"].(map[string]any)
		policy.Scheduling = schema.Scheduling{
			MinAvailable:   limit(r, &step, "minAvailable", gang.MinAvailable),
			Queue:          gang.Queue,
			PriorityClass:  gang.PriorityClass,
			TimeoutSeconds: limit(r, &step, "scheduleTimeoutSeconds", gang.ScheduleTimeoutSeconds),
			MinResources:   minResources(fields),
		}
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
func limit[N int32 | int64](r *reader, p *path, key string, value *N) schema.Limit {
	if value == nil {
		return schema.Limit{}
	}
	if *value < 0 {
		step := p.field(key)
		r.problem(&step, schema.OutOfRange, "number "+strconv.FormatInt(int64(*value), 10), "be greater than or equal to 0", "")
	}
	return schema.Limit{Set: true, Value: int64(*value)}
}

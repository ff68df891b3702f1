package convert

import (
	"fmt"
	"reflect"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// policy converts the run policy to normal form, and checks what its types do not restrict.
func (r *reader) policy(raw any) training.RunPolicy {
	var spec training.RunPolicySpec
	r.Walk(shapes.Of(reflect.TypeFor[training.RunPolicySpec]()), raw, reflect.ValueOf(&spec).Elem())
	fields, _ := raw.(map[string]any)
	policy := policyOf(spec)
	if manager := spec.ManagedBy; manager != nil && *manager != r.kind.ManagedByUs() && *manager != training.ManagedByMultiKueue {
		r.ProblemIn("managedBy", schema.InvalidValue, schema.Quote(*manager),
			convert.OneOf([]string{r.kind.ManagedByUs(), training.ManagedByMultiKueue}), "leave it out for this operator")
	}
	if gang := spec.SchedulingPolicy; gang != nil {
		r.Enter("schedulingPolicy")
		fields, _ := fields["schedulingPolicy"].(map[string]any)
		policy.Scheduling = training.Scheduling{
			MinAvailable:   limit(gang.MinAvailable),
			Queue:          gang.Queue,
			PriorityClass:  gang.PriorityClass,
			TimeoutSeconds: limit(gang.ScheduleTimeoutSeconds),
			MinResources:   r.minResources(fields),
		}
		r.Leave()
	}
	return policy
}

// policyOf returns the normal form of a policy, without Scheduling.
func policyOf(spec training.RunPolicySpec) training.RunPolicy {
	policy := training.RunPolicy{
		TTL:      limit(spec.TTLSecondsAfterFinished),
		Deadline: limit(spec.ActiveDeadlineSeconds),
		Backoff:  limit(spec.BackoffLimit),
		Suspend:  spec.Suspend != nil && *spec.Suspend,
	}
	if clean := spec.CleanPodPolicy; clean != nil && *clean != "" {
		policy.CleanPods = training.CleanPodPolicy(*clean)
	}
	return policy
}

// minAvailable warns of a gang with more members than the job has replicas.
func (r *reader) minAvailable(members training.Limit, rtypes []draft) {
	replicas := 0
	for i := range rtypes {
		replicas += rtypes[i].Replicas
	}
	if !members.Set || members.Value <= int64(replicas) {
		return
	}
	for _, key := range []string{"runPolicy", "schedulingPolicy", "minAvailable"} {
		r.Enter(key)
		defer r.Leave()
	}
	r.Warning(schema.Conflict, fmt.Sprintf("number %d, above the number of replicas, %d", members.Value, replicas), "",
		"a gang scheduler never places them; leave it out to ask for all")
}

// minResources returns the quantities as the user wrote them. Invalid quantities were reported before.
func (r *reader) minResources(fields map[string]any) map[string]string {
	raw, _ := fields["minResources"].(map[string]any)
	if len(raw) == 0 {
		return nil
	}
	r.Enter("minResources")
	defer r.Leave()
	resources := make(map[string]string, len(raw))
	for name, value := range raw {
		if name != "pods" { // which gang schedulers count, too
			r.Amount(name, value)
		}
		resources[name], _ = convert.Written(value)
	}
	return resources
}

// limit returns an optional number, whose range was checked before.
func limit[N int32 | int64](value *N) training.Limit {
	if value == nil {
		return training.Limit{}
	}
	return training.Limit{Set: true, Value: int64(*value)}
}

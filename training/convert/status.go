package convert

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

const (
	conditionLimit = 32
	reasonLimit    = 256
	messageLimit   = 1200
	selectorLimit  = 1024
)

// statusReader reads a status leniently: it leaves out malformed, unknown and excessive parts and sets
// unclean. A status is never a reason to reject the object, because any client may have written it.
type statusReader struct{ unclean bool }

func statusOf(kind *training.Kind, raw any) training.Status {
	r := &statusReader{}
	status := training.Status{}
	fields := r.object(raw)
	for key, value := range fields {
		switch key {
		case "conditions":
			status.Conditions = r.conditions(value)
		case "replicaStatuses":
			status.ReplicaStatuses = r.replicas(kind, value)
		case "startTime":
			status.StartTime = r.moment(value)
		case "completionTime":
			status.CompletionTime = r.moment(value)
		case "lastReconcileTime":
			status.LastReconcileTime = r.moment(value)
		case "observedGeneration":
			status.ObservedGeneration = r.count(value, math.MaxInt64)
		default:
			r.unclean = true
		}
	}
	status.Unclean = r.unclean
	return status
}

// object reads raw as an object; absent is empty.
func (r *statusReader) object(raw any) map[string]any {
	fields, ok := raw.(map[string]any)
	r.unclean = r.unclean || !ok && raw != nil
	return fields
}

// conditions returns the conditions of known types, in order. If there are several of one type, the last one counts
// and keeps its position. If there are too many, the last ones are kept.
func (r *statusReader) conditions(raw any) []training.Condition {
	items, ok := raw.([]any)
	r.unclean = r.unclean || !ok && raw != nil
	if over := len(items) - conditionLimit; over > 0 {
		r.unclean = true
		items = items[over:]
	}
	last := make(map[training.ConditionType]int, len(items))
	read := make([]training.Condition, len(items))
	for i, item := range items {
		if c, ok := r.condition(item); ok {
			read[i] = c
			last[c.Type] = i
		}
	}
	var conditions []training.Condition
	for i, c := range read {
		if at, ok := last[c.Type]; !ok || at != i {
			r.unclean = true
			continue
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// condition reads one condition; ok is false if its type or status is unknown.
func (r *statusReader) condition(raw any) (c training.Condition, ok bool) {
	fields := r.object(raw)
	for key, value := range fields {
		switch key {
		case "type":
			c.Type = training.ConditionType(r.text(value, reasonLimit))
		case "status":
			c.Status = metav1.ConditionStatus(r.text(value, reasonLimit))
		case "reason":
			c.Reason = r.text(value, reasonLimit)
		case "message":
			c.Message = r.text(value, messageLimit)
		case "lastUpdateTime":
			c.LastUpdateTime = r.time(value)
		case "lastTransitionTime":
			c.LastTransitionTime = r.time(value)
		default:
			r.unclean = true
		}
	}
	switch c.Type {
	case training.Created, training.Running, training.Restarting, training.Suspended, training.Succeeded, training.Failed, training.Stalled:
	default:
		return c, false
	}
	switch c.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		return c, true
	}
	return c, false
}

// replicas returns the counts of the kind's replica types, under the names that the operator writes.
func (r *statusReader) replicas(kind *training.Kind, raw any) map[string]training.ReplicaStatus {
	fields := r.object(raw)
	var statuses map[string]training.ReplicaStatus
	for i := range kind.ReplicaTypes {
		name := kind.ReplicaTypes[i].Name
		if fields[name] == nil {
			continue
		}
		if statuses == nil {
			statuses = make(map[string]training.ReplicaStatus, len(kind.ReplicaTypes))
		}
		statuses[name] = r.replica(fields[name])
	}
	r.unclean = r.unclean || len(statuses) != len(fields)
	return statuses
}

func (r *statusReader) replica(raw any) (s training.ReplicaStatus) {
	for key, value := range r.object(raw) {
		switch key {
		case "active":
			s.Active = int32(r.count(value, math.MaxInt32))
		case "succeeded":
			s.Succeeded = int32(r.count(value, math.MaxInt32))
		case "failed":
			s.Failed = int32(r.count(value, math.MaxInt32))
		case "selector":
			s.Selector = r.text(value, selectorLimit)
		default:
			r.unclean = true
		}
	}
	return s
}

func (r *statusReader) text(raw any, limit int) string {
	v, ok := raw.(string)
	clean := schema.Clean(v, limit)
	r.unclean = r.unclean || !ok && raw != nil || clean != v
	return clean
}

// count reads a number from 0 to most; anything else is 0.
func (r *statusReader) count(raw any, most int64) int64 {
	if raw == nil {
		return 0
	}
	v, ok := convert.IntegerOf(raw)
	if !ok || v < 0 || v > most {
		r.unclean = true
		return 0
	}
	return v
}

func (r *statusReader) moment(raw any) *metav1.Time {
	t := r.time(raw)
	if t.IsZero() {
		return nil
	}
	return &t
}

// time reads a time between 1970 and 9999, truncated to the second, so that it can be written back unchanged.
func (r *statusReader) time(raw any) metav1.Time {
	if raw == nil {
		return metav1.Time{}
	}
	t, ok := convert.TimeOf(raw)
	if !ok || t.Unix() < 0 || t.Year() > 9999 {
		r.unclean = true
		return metav1.Time{}
	}
	t.Time = t.Truncate(time.Second)
	r.unclean = r.unclean || t.Format(time.RFC3339) != raw
	return t
}

package training

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// AnnotationTemplate is the annotation of a batch/v1 Job that holds a hash of the immutable part of its pod template.
const AnnotationTemplate = "training.kubeflow.org/template-hash"

// BatchPolicy holds the settings for the batch/v1 Job that runs a replica type: see KnownReplicaType.Batch.
type BatchPolicy struct {
	Backoff, Deadline Limit
	// Awaits is the replica type whose pods must all be ready before the Job may run; "": none.
	Awaits string
	// Labels are set on the batch/v1 Job in addition to the operator's own labels.
	Labels map[string]string
}

// BatchReplicaType returns the replica type that a batch/v1 Job runs, or nil if there is none.
func (j *Job) BatchReplicaType() *ReplicaType {
	for i := range j.ReplicaTypes {
		if j.ReplicaTypes[i].Batch {
			return &j.ReplicaTypes[i]
		}
	}
	return nil
}

// BatchJob is what the plan reads of a batch/v1 Job that belongs to a job.
type BatchJob struct {
	schema.Child
	*BatchState
}

// BatchState is what the cache keeps of a batch/v1 Job in addition to its metadata.
type BatchState struct {
	Suspended              bool
	Backoff, Deadline, TTL Limit
	TemplateHash           string
	// Scheduling is the part of the pod template that may change while the Job is suspended, as JSON.
	Scheduling []byte
	// Started: status.startTime is set. StartedAt is that time, or zero if it cannot be read.
	Started        bool
	StartedAt      time.Time
	Active, Failed int64
	// End is Complete or Failed once the Job has that condition; Reason and Message are those of the condition.
	End             BatchEnd
	Reason, Message string
	Completed       *metav1.Time
	Ending          *Ending
}

// BatchEnd is how a batch/v1 Job ended.
type BatchEnd string

const (
	BatchRunning  BatchEnd = ""
	BatchComplete BatchEnd = "Complete"
	BatchFailed   BatchEnd = "Failed"
)

// SchedulingOf splits a pod template. scheduling may change while the batch/v1 Job is suspended and has not started;
// rest is everything else.
func SchedulingOf(template map[string]any) (scheduling, rest map[string]any) {
	scheduling, rest = map[string]any{}, map[string]any{}
	split := func(of any, names ...string) (found, others map[string]any) {
		found, others = map[string]any{}, map[string]any{}
		fields, _ := of.(map[string]any)
		for name, value := range fields {
			others[name] = value
		}
		for _, name := range names {
			if value := fields[name]; value != nil {
				found[name] = value
			}
			delete(others, name)
		}
		return found, others
	}
	scheduling["metadata"], rest["metadata"] = split(template["metadata"], "labels", "annotations")
	scheduling["spec"], rest["spec"] = split(template["spec"], "nodeSelector", "affinity", "tolerations", "schedulingGates")
	return scheduling, rest
}

// TemplateHash returns the hash of the second result of SchedulingOf, for AnnotationTemplate.
func TemplateHash(rest map[string]any) string { return hash(rest) }

// BatchStateOf returns the cached state of a batch/v1 Job. It accepts any content.
func BatchStateOf(object map[string]any) *BatchState {
	spec, _ := object["spec"].(map[string]any)
	status, _ := object["status"].(map[string]any)
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	s := &BatchState{Backoff: limitAt(spec, "backoffLimit"), Deadline: limitAt(spec, "activeDeadlineSeconds"), TTL: limitAt(spec, "ttlSecondsAfterFinished"),
		Active: limitAt(status, "active").Value, Failed: limitAt(status, "failed").Value}
	s.Suspended, _ = spec["suspend"].(bool)
	s.TemplateHash = textAt(annotations, AnnotationTemplate)
	scheduling, _ := SchedulingOf(template)
	s.Scheduling, _ = json.Marshal(scheduling) // what cannot be written is nothing
	s.Started = status["startTime"] != nil
	s.StartedAt, _ = time.Parse(time.RFC3339, textAt(status, "startTime"))
	s.Ending = endingIn(object)
	if at, _ := status["completionTime"].(string); at != "" {
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			s.Completed = &metav1.Time{Time: t}
		}
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		end, _ := condition["type"].(string)
		if condition["status"] == "True" && (end == string(BatchComplete) || end == string(BatchFailed)) {
			s.End = BatchEnd(end)
			s.Reason, s.Message = textAt(condition, "reason"), textAt(condition, "message")
		}
	}
	return s
}

// mostKept bounds each cached text of a Job, in bytes, at the length that an event can hold: a Job may contain a text of any length.
const mostKept = 1024

// textAt returns the string under a key, cut to mostKept bytes.
func textAt(of map[string]any, name string) string {
	text, _ := of[name].(string)
	return schema.Cut(text, mostKept)
}

// limitAt returns the integer under a key; unset if there is none.
func limitAt(of map[string]any, name string) Limit {
	n, ok := of[name].(int64)
	return Limit{Set: ok, Value: n}
}

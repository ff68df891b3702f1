package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// A replica type may be run by a batch/v1 Job (training.KnownReplicaType.Batch). The Job creates its pod, replaces it
// after a failure, and has the limits. The plan creates the Job and follows its status. In this file, Job is the batch/v1
// Job and job is the training job.
//
//	the batch/v1 Job                            action
//	does not exist                              it is created, when its pod may start
//	is being deleted                            none, until the name is free
//	is complete, or has failed                  the job gets the same terminal condition
//	runs                                        its limits are updated to those of the job
//	is suspended, and nothing differs           it is resumed, when its pod may start
//	is suspended, and its scheduling differs:   if it was started before, status.startTime is cleared, as the API server
//	labels, node selector, tolerations          requires for such an update. The update is sent when the Job is resumed
//	is suspended, and anything else differs     it is deleted when its pods no longer run, and created again
//
// A job that was suspended before it ran has no Job: otherwise the pod of the Job would not wait for others on resumption.
//
// A Job that an earlier operator created is not in the cache until it has our labels. It gets them when its creation finds
// that it exists: see mayBeUnseen.

// batchJob returns the Job of the replica type; nil if it does not exist, or if there is no such replica type.
func (d *draft) batchJob() *training.BatchJob {
	if d.Job == nil {
		return nil
	}
	rtype := d.Job.BatchReplicaType()
	if rtype == nil {
		return nil
	}
	name := rtype.Child(d.Head.Meta.Name, 0)
	for i := range d.BatchJobs {
		if d.BatchJobs[i].Name == name {
			return &d.BatchJobs[i]
		}
	}
	return nil
}

// mayBeUnseen reports whether a Job without our labels may exist: the job was started by another operator. Under a CRD
// without observedGeneration this is assumed of every started job that has no Job.
func (d *draft) mayBeUnseen() bool {
	return d.batchJob() == nil && d.Head.Status.StartTime != nil && d.Head.Status.ObservedGeneration == 0
}

// runBatch creates, resumes or updates the Job of a job that runs.
func (d *draft) runBatch() {
	rtype := d.Job.BatchReplicaType()
	if rtype == nil {
		return
	}
	switch job := d.batchJob(); {
	case job == nil:
		switch {
		case d.mayStart(rtype):
			d.createBatch(rtype, false)
		case d.mayBeUnseen(): // it may be over already; if it is not there, it begins when its pod may start
			d.createBatch(rtype, true)
		}
	case job.Deleting:
	case job.Suspended && d.mayStart(rtype):
		d.resumeBatch(rtype, job)
	case !job.Suspended:
		d.patchBatch(job, limits(d.Job.Batch, job))
	}
}

// suspendBatch suspends the Job and keeps it, so that its counts are not lost. It reports whether the Job no longer runs.
// Only then may other pods be deleted: the Job would fail if it lost them.
func (d *draft) suspendBatch() (rests bool) {
	rtype, job := d.Job.BatchReplicaType(), d.batchJob()
	switch {
	case rtype == nil:
	case d.mayBeUnseen() && !d.isBeingDeleted():
		d.createBatch(rtype, true) // it is known in the next reconcile whether it runs
		return false
	case job != nil:
		return !d.stopBatch(job)
	}
	return true
}

// stopBatch suspends a Job that runs, so that its controller deletes its pods. It reports whether it did.
func (d *draft) stopBatch(job *training.BatchJob) (stops bool) {
	if job.Suspended || job.Deleting || job.End != training.BatchRunning {
		return false
	}
	d.patchBatch(job, map[string]any{"suspend": true})
	return true
}

// cleanBatch applies cleanPodPolicy to the Job and its pods.
//
//	policy    a Job that runs    pods of a Job that is over
//	None      continues          stay
//	Running   is suspended       stay
//	All       is suspended       are deleted
func (d *draft) cleanBatch() {
	job := d.batchJob()
	if job == nil || d.Job.Policy.CleanPods == training.CleanNone {
		return
	}
	d.stopBatch(job)
	if job.End == training.BatchRunning || d.Job.Policy.CleanPods != training.CleanAll {
		return
	}
	for i := range d.BatchPods {
		if d.BatchPods[i].Through == job.UID { // a user created any other Job by hand
			d.deletePod(&d.BatchPods[i])
		}
	}
}

func (d *draft) createBatch(rtype *training.ReplicaType, suspend bool) {
	d.adopts = d.mayBeUnseen()
	template := d.batchTemplate(rtype)
	_, rest := training.SchedulingOf(template)
	labels := raw(d.Job.Batch.Labels)
	maps.Copy(labels, raw(map[string]string{training.LabelOperator: d.Head.Kind.Controller, training.LabelJob: d.Head.Meta.Name}))
	meta := owned(d.Job, rtype.Child(d.Head.Meta.Name, 0), labels)
	meta.Annotations = schema.JSON(map[string]string{training.AnnotationTemplate: training.TemplateHash(rest)})
	spec := map[string]any{"suspend": suspend, "podReplacementPolicy": "Failed", "template": template}
	if limit := d.Job.Batch.Backoff; limit.Set {
		spec["backoffLimit"] = limit.Value
	}
	if limit := d.Job.Batch.Deadline; limit.Set {
		spec["activeDeadlineSeconds"] = limit.Value
	}
	if rtype.Restart == training.RestartNever { // with another policy the API server refuses it
		spec["podFailurePolicy"] = ignoreDisruptions()
	}
	r := schema.Jobs()
	d.plan.Create = append(d.plan.Create, schema.Object{Resource: r, Namespace: meta.Namespace, Name: meta.Name, Body: schema.JSON(map[string]any{
		"apiVersion": r.APIVersion(), "kind": r.Kind, "metadata": meta, "spec": spec})})
}

// ignoreDisruptions returns the pod failure policy with which a disrupted pod does not count towards the limit of the Job.
func ignoreDisruptions() map[string]any {
	disrupted := map[string]string{"type": string(corev1.DisruptionTarget), "status": string(corev1.ConditionTrue)}
	return map[string]any{"rules": []any{map[string]any{"action": "Ignore", "onPodConditions": []any{disrupted}}}}
}

// batchTemplate returns the pod template of the Job.
func (d *draft) batchTemplate(rtype *training.ReplicaType) map[string]any {
	builder := newBuilder(d.Job)
	builder.native = d.nativeOfNewPods()
	template, _ := read(builder.template(&replica{replicaType: rtype, name: rtype.Child(d.Head.Meta.Name, 0)})).(map[string]any)
	return template
}

func (d *draft) resumeBatch(rtype *training.ReplicaType, job *training.BatchJob) {
	template := d.batchTemplate(rtype)
	scheduling, rest := training.SchedulingOf(template)
	change := schedulingDifferences(scheduling, job.Scheduling)
	switch {
	case job.TemplateHash != training.TemplateHash(rest):
		if !d.hasBatchPods(job) {
			deletion := job.Deletion(schema.Jobs())
			deletion.ResourceVersion = job.ResourceVersion
			d.plan.Delete = append(d.plan.Delete, deletion)
		}
	case len(change) > 0 && job.Started:
		if !d.hasBatchPods(job) {
			d.plan.Patch = append(d.plan.Patch, job.PatchStatus(schema.Jobs(), map[string]any{"startTime": nil}))
		}
	default:
		spec := limits(d.Job.Batch, job)
		spec["suspend"] = false
		if len(change) > 0 {
			spec["template"] = change
		}
		d.patchBatch(job, spec)
	}
}

// hasBatchPods reports whether a pod of the Job may still run.
func (d *draft) hasBatchPods(job *training.BatchJob) bool {
	return job.Active > 0 || slices.ContainsFunc(d.BatchPods, func(p training.Pod) bool {
		return p.Through == job.UID && p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed
	})
}

func (d *draft) patchBatch(job *training.BatchJob, spec map[string]any) {
	if len(spec) > 0 {
		d.plan.Patch = append(d.plan.Patch, job.Patch(schema.Jobs(), map[string]any{"spec": spec}))
	}
}

// defaultBackoff is the API server's default of backoffLimit.
const defaultBackoff = 6

// limits returns a patch of the limits of the Job that differ from those of the job. It also removes a TTL that an earlier
// operator set: otherwise the Job could be deleted together with the record of its end.
func limits(want training.BatchPolicy, job *training.BatchJob) map[string]any {
	differ := map[string]any{}
	backoff := want.Backoff
	if !backoff.Set {
		backoff = training.Limit{Set: true, Value: defaultBackoff}
	}
	for name, limit := range map[string][2]training.Limit{"backoffLimit": {backoff, job.Backoff}, "activeDeadlineSeconds": {want.Deadline, job.Deadline},
		"ttlSecondsAfterFinished": {{}, job.TTL}} {
		switch {
		case limit[0] == limit[1]:
		case limit[0].Set:
			differ[name] = limit[0].Value
		default:
			differ[name] = nil
		}
	}
	return differ
}

// schedulingDifferences returns a merge patch of the pod template to the desired scheduling. It keeps labels and annotations
// that are not desired: the Job's controller set them.
func schedulingDifferences(want map[string]any, stored []byte) map[string]any {
	differ, has := map[string]any{}, object(stored)
	meta, storedMeta := object(schema.JSON(want["metadata"])), object(has["metadata"])
	changed := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if found := differences(object(meta[field]), storedMeta[field]); len(found) > 0 {
			changed[field] = found
		}
	}
	if len(changed) > 0 {
		differ["metadata"] = changed
	}
	spec := object(schema.JSON(want["spec"]))
	for _, field := range []string{"nodeSelector", "affinity", "tolerations", "schedulingGates"} {
		if spec[field] == nil {
			spec[field] = json.RawMessage("null")
		}
	}
	if found := differences(spec, has["spec"]); len(found) > 0 {
		differ["spec"] = found
	}
	return differ
}

// tallyBatch counts running pods of the Job; the number of failed ones comes from the status of the Job. A pod that has succeeded
// is counted before the Job is complete, about a second later: otherwise a status without any counts would be written in between.
func (d *draft) tallyBatch(counts map[string]training.ReplicaStatus) {
	rtype, job := d.Job.BatchReplicaType(), d.batchJob()
	if rtype == nil {
		return
	}
	if job == nil {
		if d.mayBeUnseen() { // until it is seen, the stored counts are kept
			recorded := d.Head.Status.ReplicaStatuses[rtype.Name]
			recorded.Selector = counts[rtype.Name].Selector
			counts[rtype.Name] = recorded
		}
		return
	}
	count := training.ReplicaStatus{Selector: counts[rtype.Name].Selector, Failed: int32(training.Count(job.Failed))}
	for i := range d.BatchPods {
		switch p := &d.BatchPods[i]; {
		case p.Through != job.UID || p.Deleting:
		case p.Phase == corev1.PodRunning:
			count.Active++
		case p.Phase == corev1.PodSucceeded && job.End == training.BatchRunning:
			count.Succeeded = 1
		}
	}
	if job.End == training.BatchComplete {
		count.Active, count.Succeeded = 0, 1
	}
	counts[rtype.Name] = count
}

// activeBatch reports whether the pod of the Job and all other replicas run, or as many as an elastic job needs.
func (d *draft) activeBatch() bool {
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		if int(d.status.ReplicaStatuses[rtype.Name].Active) < rtype.Needed() {
			return false
		}
	}
	return true
}

// batchFailed fails the job if the Job has failed, or can never run.
func (d *draft) batchFailed() bool {
	rtype := d.Job.BatchReplicaType()
	if rtype == nil {
		return false
	}
	if job := d.batchJob(); job != nil && job.End == training.BatchFailed {
		last := d.lastOfBatch(job)
		reason, message := d.batchCause(job, last)
		d.failure = d.firstFailure(d.hasFailedNow) // a worker that was killed makes the launcher fail
		if last != nil {
			d.failure = earlier(last.FailureOf(rtype.Container), d.failure)
		}
		d.concludeAs(training.Failed, reason, naming(d.failure, message), CountFailed)
		return true
	}
	if d.mayBeUnseen() { // it may have succeeded, which would count first
		return false
	}
	return d.awaitedFailed(rtype)
}

// awaitedFailed fails the job if the Job waits for replicas of another type and too many of these have failed and are not replaced.
// The job would wait forever, as its deadline is set on the Job and does not count before the Job runs. Once the Job runs,
// its pod decides what a failed replica means.
func (d *draft) awaitedFailed(rtype *training.ReplicaType) bool {
	awaited := d.Job.Awaited(rtype)
	if job := d.batchJob(); awaited == nil || awaited.Restart != training.RestartNever || job != nil && !job.Suspended || d.mayBeUnseen() {
		return false
	}
	left := awaited.Replicas
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.replicaType != awaited || r.pod == nil || r.pod.Phase != corev1.PodFailed || r.pod.Deleting || r.pod.Disrupted {
			continue
		}
		if left--; left < awaited.Needed() {
			first := d.firstFailure(func(r *replica) bool { return r.replicaType == awaited && d.hasFailedNow(r) })
			d.failBecauseOf(first, fmt.Sprintf("%s failed before %s workers were ready, and is not replaced", r.pod.Name, neededOf(awaited)))
			return true
		}
	}
	return false
}

// neededOf returns the number of replicas that the job needs, for a message.
func neededOf(rtype *training.ReplicaType) string {
	if rtype.Needed() == rtype.Replicas {
		return "all"
	}
	return strconv.Itoa(rtype.Needed())
}

// lastOfBatch returns the newest failed pod of the Job, or nil.
func (d *draft) lastOfBatch(job *training.BatchJob) (last *training.Pod) {
	for i := range d.BatchPods {
		p := &d.BatchPods[i]
		if p.Through == job.UID && p.Phase == corev1.PodFailed && (last == nil || last.Created.Before(p.Created)) {
			last = p
		}
	}
	return last
}

// batchCause returns why the Job failed, together with the Cause of its newest failed pod. There is no Cause if a container
// of that pod failed, whatever happened to earlier pods.
func (d *draft) batchCause(job *training.BatchJob, last *training.Pod) (reason, message string) {
	reason = cmp.Or(job.Reason, d.Head.Kind.Reason(training.ReasonFailed))
	message = cmp.Or(job.Message, d.Job.Sentences().Failed)
	if last != nil && last.Failure != nil && last.Failure.Cause.Reason != "" && job.Reason == "BackoffLimitExceeded" {
		reason += "/" + last.Failure.Cause.Reason
		if last.Failure.Cause.Message != "" {
			message += ": " + last.Failure.Cause.Message
		}
	}
	if reason == training.ReasonInvalidSpec { // of which the status of a rejected job is made
		reason = d.Head.Kind.Reason(training.ReasonFailed)
	}
	return schema.Clean(reason, maxMessage), schema.Clean(message, maxMessage)
}

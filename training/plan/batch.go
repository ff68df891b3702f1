package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// A replica type may be run by a batch/v1 Job (training.KnownReplicaType.Batch): the Job makes its pod, makes it again
// after a failure, and holds the limits. The plan makes the Job and follows it.
//
//	the batch/v1 Job                            then
//	is not there                                it is created, when its pod may start
//	is being deleted                            its name is waited for
//	is complete, or has failed                  so has the job
//	runs                                        its limits follow those of the job
//	is suspended, and nothing differs           it continues, when its pod may start
//	is suspended, and another scheduling is     status.startTime is cleared, if it has started before: the API server
//	wanted: labels, node selector, tolerations  takes other scheduling only then. It changes as the Job continues
//	is suspended, and all else differs          it is deleted when its pods are gone, and created again
//
// A job that is suspended has no Job unless it has run: its pod would not wait for others when the job continues.
//
// A Job that an earlier operator made is not seen before it has our labels, which it gets when its creation finds it: see
// mayBeUnseen.

// batchJob is the Job of the replica type; nil if it is not there, or if there is no such replica type.
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

// mayBeUnseen: the job has begun, and not under us, so that its Job may be there without our labels. Under a CRD without
// observedGeneration this is so of every job that has begun and has no Job.
func (d *draft) mayBeUnseen() bool {
	return d.batchJob() == nil && d.Head.Status.StartTime != nil && d.Head.Status.ObservedGeneration == 0
}

// runBatch brings the Job of a job that runs to what is wanted.
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

// suspendBatch keeps the Job, so that what it counts is not lost. It answers whether the Job does not run any more: other pods
// are deleted only then, as the loss of these would be a failure to it.
func (d *draft) suspendBatch() (rests bool) {
	rtype, job := d.Job.BatchReplicaType(), d.batchJob()
	switch {
	case rtype == nil:
	case d.mayBeUnseen():
		d.createBatch(rtype, true) // it is known in the next reconcile whether it runs
		return false
	case job != nil:
		return !d.stopBatch(job)
	}
	return true
}

// stopBatch suspends a Job that runs: its pods are deleted by its controller.
func (d *draft) stopBatch(job *training.BatchJob) (stops bool) {
	if job.Suspended || job.Deleting || job.End != training.BatchRunning {
		return false
	}
	d.patchBatch(job, map[string]any{"suspend": true})
	return true
}

// cleanBatch is what cleanPodPolicy says of the Job and its pods.
//
//	policy    a Job that runs    pods of one that is over
//	None      runs on            stay
//	Running   is suspended       stay
//	All       is suspended       go
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
		if d.BatchPods[i].Through == job.UID { // another Job is somebody's work by hand
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
	r := schema.Jobs()
	d.plan.Create = append(d.plan.Create, schema.Object{Resource: r, Namespace: meta.Namespace, Name: meta.Name, Body: schema.JSON(map[string]any{
		"apiVersion": r.APIVersion(), "kind": r.Kind, "metadata": meta, "spec": spec})})
}

// batchTemplate is the pod template of the Job.
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

// hasBatchPods says whether a pod of the Job may still run.
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

// defaultBackoff is what the API server takes for no backoffLimit.
const defaultBackoff = 6

// limits of the Job that are not those of the job. One that an earlier operator made may delete itself, and with it what
// is on record of its end.
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

// schedulingDifferences are what of the scheduling is stored otherwise, as a merge patch of a pod template. Labels and
// annotations that are only stored are those of the Job's controller.
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

// tallyBatch counts the pods of the Job that run; how many failed, its controller knows. One that has succeeded counts as such
// before its controller says that the Job is complete, a second later: that nothing runs and nothing is done would be a status of
// its own.
func (d *draft) tallyBatch(counts map[string]training.ReplicaStatus) {
	rtype, job := d.Job.BatchReplicaType(), d.batchJob()
	if rtype == nil {
		return
	}
	if job == nil {
		if d.mayBeUnseen() { // what is on record counts until it is seen
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

// activeBatch: the pod of the Job runs, and so do all replicas beside it.
func (d *draft) activeBatch() bool {
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		if int(d.status.ReplicaStatuses[rtype.Name].Active) < rtype.Replicas {
			return false
		}
	}
	return true
}

// batchFailed: the Job has failed, or its replicas were evicted that no one replaces.
func (d *draft) batchFailed() bool {
	rtype := d.Job.BatchReplicaType()
	if rtype == nil {
		return false
	}
	if job := d.batchJob(); job != nil && job.End == training.BatchFailed {
		reason, message := d.batchCause(job)
		d.concludeAs(training.Failed, reason, message, CountFailed)
		return true
	}
	if d.mayBeUnseen() { // it may have succeeded, which would count first
		return false
	}
	evicted, all := 0, 0
	for i := range d.replicas {
		all++
		if r := &d.replicas[i]; r.isEvicted() && r.replicaType.Restart == training.RestartNever && !d.isOfEarlierRun(r.pod) {
			evicted++
		}
	}
	if evicted == 0 {
		return d.awaitedFailed(rtype)
	}
	d.concludeAs(training.Failed, d.Head.Kind.Reason(training.ReasonEvictedWorkers), fmt.Sprintf("%d/%d workers are evicted", evicted, all), CountFailed)
	return true
}

// awaitedFailed: the Job is not made before all replicas of another replica type are ready, and one of them has failed that no one
// replaces. The job would wait forever: its deadline is that of the Job, which has none while it is suspended. Once the Job runs, its pod
// decides what a failed replica means.
func (d *draft) awaitedFailed(rtype *training.ReplicaType) bool {
	awaited := d.Job.Awaited(rtype)
	if job := d.batchJob(); awaited == nil || awaited.Restart != training.RestartNever || job != nil && !job.Suspended || d.mayBeUnseen() {
		return false
	}
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.replicaType == awaited && r.pod != nil && r.pod.Phase == corev1.PodFailed && !r.pod.Deleting {
			d.concludeAs(training.Failed, d.Head.Kind.Reason(training.ReasonFailed), fmt.Sprintf("%s failed before all workers were ready, and is not replaced", r.pod.Name), CountFailed)
			return true
		}
	}
	return false
}

// isOfEarlierRun: the pod was created before the job was suspended, and a finalizer keeps it. A pod that is not being deleted belongs to
// this run, however old it is: the API server's clock may lag.
func (d *draft) isOfEarlierRun(pod *training.Pod) bool {
	return pod.Deleting && !pod.Created.IsZero() && d.status.StartTime != nil && pod.Created.Before(d.status.StartTime.Time)
}

// isEvicted: its node has taken the pod away, whether it is being deleted by now or not.
func (r *replica) isEvicted() bool {
	return r.pod != nil && r.pod.Phase == corev1.PodFailed && r.pod.Cause != nil && r.pod.Cause.Reason == training.ReasonEvicted
}

// batchCause is why the Job failed, and what the last of its pods that failed says of that. Where a container has failed, that is
// nothing, whatever has become of earlier ones.
func (d *draft) batchCause(job *training.BatchJob) (reason, message string) {
	var last *training.Pod
	for i := range d.BatchPods {
		p := &d.BatchPods[i]
		if p.Through == job.UID && p.Phase == corev1.PodFailed && (last == nil || last.Created.Before(p.Created)) {
			last = p
		}
	}
	reason = cmp.Or(job.Reason, d.Head.Kind.Reason(training.ReasonFailed))
	message = cmp.Or(job.Message, d.Job.Sentences().Failed)
	if last != nil && last.Cause != nil && job.Reason == "BackoffLimitExceeded" {
		reason += "/" + last.Cause.Reason
		if last.Cause.Message != "" {
			message += ": " + last.Cause.Message
		}
	}
	if reason == training.ReasonInvalidSpec { // of which the status of a rejected job is made
		reason = d.Head.Kind.Reason(training.ReasonFailed)
	}
	return schema.Clean(reason, maxMessage), schema.Clean(message, maxMessage)
}

package training

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// Labels of children. They only select children in a list; the identity of a child is name + owner UID.
const (
	LabelOperator     = "training.kubeflow.org/operator-name"
	LabelJob          = "training.kubeflow.org/job-name"
	LabelReplicaType  = "training.kubeflow.org/replica-type"
	LabelReplicaIndex = "training.kubeflow.org/replica-index"
	LabelJobRole      = "training.kubeflow.org/job-role"

	// JobRoleMaster is the value of LabelJobRole on the pods that the success rule names.
	JobRoleMaster = "master"
	// JobRoleWorker and JobRoleLauncher are the values that mpi-operator sets. Its pods have no LabelReplicaType.
	JobRoleWorker, JobRoleLauncher = "worker", "launcher"
)

// ChildName returns the name of the replica with the given index: "mnist-worker-0". roleLabel is the label of its replica type.
func ChildName(job, roleLabel string, index int) string {
	return job + "-" + ReplicaName(roleLabel, index)
}

// ReplicaLabels returns the labels of the operator that identify a replica. They are also the selector of its service.
func (j *Job) ReplicaLabels(rtype *ReplicaType, index int) map[string]string {
	if j.Kind.Labels != nil {
		return j.Kind.Labels(j, rtype, index)
	}
	labels := map[string]string{
		LabelOperator:    j.Kind.Controller,
		LabelJob:         j.Meta.Name,
		LabelReplicaType: rtype.Label,
	}
	if !rtype.Unnumbered {
		labels[LabelReplicaIndex] = strconv.Itoa(index)
	}
	return labels
}

// Host returns the DNS name by which other replicas reach a replica: "mnist-worker-0.ns.svc", followed by
// ".domain" if the cluster's domain is set.
func Host(job, namespace, roleLabel string, index int, domain string) string {
	host := ChildName(job, roleLabel, index) + "." + namespace + ".svc"
	if domain != "" {
		host += "." + domain
	}
	return host
}

// Pod is what the plan reads of a pod that belongs to a job: the UID of its controller owner is the job's.
type Pod struct {
	Name        string
	UID         types.UID
	ReplicaType string // the replica type as in the labels; only used to count pods of a rejected job
	Phase       corev1.PodPhase
	// Created is the creationTimestamp; zero if it is absent.
	Created time.Time
	// Deleting: it has a deletionTimestamp.
	Deleting bool
	// Exits holds the exit code of each terminated container.
	Exits []Exit
	// Restarts is the sum of the restart counts of all containers, init containers and sidecars included, but not those that
	// the operator adds: see IsAddedContainer.
	Restarts int64
	// ConsecutiveFailures is how many pods of the replica failed in a row before this one; see AnnotationRestartCount.
	ConsecutiveFailures int64
	// Problem is why the pod cannot run; nil for most.
	Problem *PodProblem
	// Ready: its condition Ready is True. It is only set for replica types that others may wait for.
	Ready bool
	// Disrupted: it has failed, and not because of its program. It is replaced under every restart policy, and does not count
	// towards the limit of restarts; see RestartPolicy.
	Disrupted bool
	// Failure is how the pod failed, or how containers ended that its kubelet has restarted; nil for most. Problem classifies
	// some failures for events.
	Failure *PodFailure
	// Through is the UID of the batch/v1 Job that created it; empty if the operator did.
	Through types.UID
	// Wait is what it waits for; nil for a pod that runs.
	Wait *PodWait
}

// PodState is what the cache keeps of a pod in addition to its metadata; the fields are those of Pod.
type PodState struct {
	ReplicaType         string
	Phase               corev1.PodPhase
	Exits               []Exit
	Restarts            int64
	ConsecutiveFailures int64
	Problem             *PodProblem
	Ready               bool
	Disrupted           bool
	Failure             *PodFailure
	Wait                *PodWait
}

// PodOf returns a cached pod in the form that plans use.
func PodOf(c *schema.Child, s *PodState) Pod {
	return Pod{Name: c.Name, UID: c.UID, Created: c.Created, Deleting: c.Deleting, Through: c.Through, Ready: s.Ready, Disrupted: s.Disrupted, Failure: s.Failure,
		ReplicaType: s.ReplicaType, Phase: s.Phase, Exits: s.Exits, Restarts: s.Restarts, ConsecutiveFailures: s.ConsecutiveFailures, Problem: s.Problem, Wait: s.Wait}
}

// Exit is how one container ended.
type Exit struct {
	Container string
	Code      int32
}

// ExitCode returns the exit code of the named container; known is false if it never terminated
// (an evicted or never started pod).
func (p *Pod) ExitCode(container string) (code int32, known bool) {
	for _, e := range p.Exits {
		if e.Container == container {
			return e.Code, true
		}
	}
	return 0, false
}

// Service is what the plan reads of a service that belongs to a job.
type Service struct {
	Name     string
	UID      types.UID
	Deleting bool
	Ending   *Ending // set while it is being deleted, if it is known
}

package schema

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of children, and what selects them. They are for listing; identity is name + owner UID.
const (
	LabelOperator = "training.kubeflow.org/operator-name"
	LabelJob      = "training.kubeflow.org/job-name"
	LabelRole     = "training.kubeflow.org/replica-type"
	LabelIndex    = "training.kubeflow.org/replica-index"
	LabelJobRole  = "training.kubeflow.org/job-role"

	// JobRoleMaster is the value of LabelJobRole on the pods of the lead.
	JobRoleMaster = "master"
)

// ChildName is the name of replica index of a role: "mnist-worker-0". The role is given by its label.
func ChildName(job, roleLabel string, index int) string {
	return job + "-" + ReplicaName(roleLabel, index)
}

// Host is the DNS name under which a replica is found by its peers: "mnist-worker-0.ns.svc", and
// ".domain" behind it if the cluster's domain is set.
func Host(job, namespace, roleLabel string, index int, domain string) string {
	host := ChildName(job, roleLabel, index) + "." + namespace + ".svc"
	if domain != "" {
		host += "." + domain
	}
	return host
}

// Pod is what the plan needs to know of a pod that belongs to a job (controller owner UID is the job's).
type Pod struct {
	Name  string
	UID   types.UID
	Role  string // the role label as found; to count pods of a rejected job, nothing else
	Phase corev1.PodPhase
	// Created is when the API server made it; zero if it did not say.
	Created time.Time
	// Deleting: it has a deletionTimestamp.
	Deleting bool
	// Exits holds the exit code of each terminated container.
	Exits []Exit
	// Restarts is the sum of the restart counts of all containers, init containers included.
	Restarts int64
	// Row is how many pods of the replica failed in a row before this one; see AnnotationRestartCount.
	Row int64
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

// Service is what the plan needs to know of a service that belongs to a job.
type Service struct {
	Name     string
	UID      types.UID
	Deleting bool
}

// Resource names an API resource that children are made of, or the job itself.
type Resource struct{ Group, Version, Plural, Kind string }

// Pods and Services are the resources of every job's children.
func Pods() Resource     { return Resource{Version: "v1", Plural: "pods", Kind: "Pod"} }
func Services() Resource { return Resource{Version: "v1", Plural: "services", Kind: "Service"} }

// Resource is the resource of the kind's own objects.
func (k *Kind) Resource() Resource {
	return Resource{Group: k.Group, Version: k.Version, Plural: k.Plural, Kind: k.Name}
}

// Object is one thing to create: the body is the exact JSON that is posted.
type Object struct {
	Resource  Resource
	Namespace string
	Name      string
	Body      []byte
}

package wire

import (
	"encoding/json"
	"time"

	"stoic/training"
	"stoic/training/kinds"
)

// Meta is what we read of an object's metadata.
type Meta struct {
	Name, Namespace   string
	UID               string
	ResourceVersion   string
	Labels            map[string]string
	Annotations       map[string]string
	CreationTimestamp time.Time
	DeletionTimestamp *time.Time
}

// Key of an object: namespace/name.
func (m *Meta) Key() string { return m.Namespace + "/" + m.Name }

// Object is the metadata of anything.
type Object struct{ Metadata Meta }

// Version of the object; see Watch.
func (o *Object) Version() string { return o.Metadata.ResourceVersion }

// Version of the job; see Watch.
func (j *Job) Version() string { return j.Metadata.ResourceVersion }

// Version of the pod; see Watch.
func (p *Pod) Version() string { return p.Metadata.ResourceVersion }

// Job is a job whose spec is not read: it may be nonsense.
type Job struct {
	Metadata Meta
	Spec     json.RawMessage
	Status   struct {
		Conditions     []Condition
		CompletionTime string
	}
}

// Condition of a job.
type Condition struct{ Type, Status, Reason string }

// Is says whether the condition of that type is True.
func (j *Job) Is(condition training.ConditionType) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == string(condition) {
			return c.Status == "True"
		}
	}
	return false
}

// Pod is what we read of a pod.
type Pod struct {
	Metadata Meta
	Status   struct {
		Phase             string
		ContainerStatuses []struct {
			State struct {
				Terminated *struct{ ExitCode int }
			}
		}
	}
}

// JobsPath is where the API server keeps the TFJobs of a namespace, or of all if it is empty.
func JobsPath(namespace string) string { return KindPath(kinds.TFJob(), namespace) }

// KindPath is the same for the jobs of any kind.
func KindPath(kind *training.Kind, namespace string) string {
	return "/apis/" + kind.Group + "/" + kind.Version + space(namespace) + "/" + kind.Plural
}

// CorePath is where the API server keeps the pods, services or events of a namespace, or of all.
func CorePath(namespace, plural string) string { return "/api/v1" + space(namespace) + "/" + plural }

func space(namespace string) string {
	if namespace == "" {
		return ""
	}
	return "/namespaces/" + namespace
}

package wire

import (
	"encoding/json"
	"time"

	"stoic/training"
	"stoic/training/kinds"
)

// Meta is the part of an object's metadata that we read.
type Meta struct {
	Name, Namespace   string
	UID               string
	ResourceVersion   string
	Labels            map[string]string
	Annotations       map[string]string
	CreationTimestamp time.Time
	DeletionTimestamp *time.Time
}

// Key returns the key of an object: namespace/name.
func (m *Meta) Key() string { return m.Namespace + "/" + m.Name }

// Object is the metadata of anything.
type Object struct{ Metadata Meta }

// Version returns the version of the object; see Watch.
func (o *Object) Version() string { return o.Metadata.ResourceVersion }

// Version returns the version of the job; see Watch.
func (j *Job) Version() string { return j.Metadata.ResourceVersion }

// Version returns the version of the pod; see Watch.
func (p *Pod) Version() string { return p.Metadata.ResourceVersion }

// Job is a job whose spec is not parsed: it may be malformed.
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

// Is reports whether the condition of that type is True.
func (j *Job) Is(condition training.ConditionType) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == string(condition) {
			return c.Status == "True"
		}
	}
	return false
}

// Pod is the part of a pod that we read.
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

// JobsPath returns the path of the TFJobs of a namespace, or of all if it is empty.
func JobsPath(namespace string) string { return KindPath(kinds.TFJob(), namespace) }

// KindPath returns the same for the jobs of any kind.
func KindPath(kind *training.Kind, namespace string) string {
	return "/apis/" + kind.Group + "/" + kind.Version + space(namespace) + "/" + kind.Plural
}

// CorePath returns the path of the pods, services or events of a namespace, or of all.
func CorePath(namespace, plural string) string { return "/api/v1" + space(namespace) + "/" + plural }

func space(namespace string) string {
	if namespace == "" {
		return ""
	}
	return "/namespaces/" + namespace
}

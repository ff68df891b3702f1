package training

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// Ending is what the cache keeps of an object that is being deleted.
type Ending struct {
	// At is the deletionTimestamp. That of a pod includes its grace period.
	At time.Time
	// Finalizers keep the object: clean, at most maxFinalizers.
	Finalizers []string
}

const (
	maxFinalizers = 5
	// maxKeptName bounds each name that a cached wait keeps, in bytes.
	maxKeptName = 100
)

// EndingOf returns the Ending of an object with this metadata; nil if it is not being deleted.
func EndingOf(deleted *metav1.Time, finalizers []string) *Ending {
	if deleted == nil {
		return nil
	}
	e := &Ending{At: deleted.Time}
	for _, name := range finalizers[:min(len(finalizers), maxFinalizers)] {
		e.Finalizers = append(e.Finalizers, KeptName(name))
	}
	return e
}

// endingIn returns the same of an untyped object.
func endingIn(object map[string]any) *Ending {
	meta, _ := object["metadata"].(map[string]any)
	at, err := time.Parse(time.RFC3339, textAt(meta, "deletionTimestamp"))
	if err != nil {
		return nil
	}
	var names []string
	finalizers, _ := meta["finalizers"].([]any)
	for _, f := range finalizers {
		if name, ok := f.(string); ok {
			names = append(names, name)
		}
	}
	return EndingOf(&metav1.Time{Time: at}, names)
}

// KeptName returns a foreign name as waits keep it.
func KeptName(name string) string { return schema.Clean(name, maxKeptName) }

// PodWait is what the cache keeps of a pod that is being deleted, has not started or has partly ended. A pod that runs has none.
type PodWait struct {
	// Ending is set while the pod is being deleted.
	Ending *Ending
	// Node is the node that the pod was bound to; empty if there is none yet.
	Node string
	// NodeLost: the node does not answer.
	NodeLost bool
	// Scheduler is the schedulerName of a pod without node, unless it is the default scheduler.
	Scheduler string
	// Init is the init container that has not ended, of a pod that has not started.
	Init string
	// Ended is when the last of the ended containers ended, and RunsOn one that has not ended.
	Ended  time.Time
	RunsOn string
}

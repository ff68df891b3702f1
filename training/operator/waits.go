package operator

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/internal/lean"
	"stoic/schema"
	"stoic/training"
)

// waitOf returns what a pod waits for; nil for a pod that runs.
//
//	the pod                                      what is kept
//	is being deleted                             since when, finalizers, node, whether the node answers
//	has not started                              its node or scheduler, and its init container that has not ended
//	runs, and one of its containers has ended    when it ended, and one that runs on
//	has failed, and is that of a batch/v1 Job    when it ended: its Job creates the next one after a back-off
func waitOf(p *lean.Object) *training.PodWait {
	switch s := &p.Status; {
	case p.DeletionTimestamp != nil:
		return &training.PodWait{Ending: training.EndingOf(p.DeletionTimestamp, p.Finalizers), Node: training.KeptName(p.Spec.NodeName), NodeLost: isNodeLost(s)}
	case s.Phase == isPending, s.Phase == "":
		w := &training.PodWait{Node: training.KeptName(p.Spec.NodeName), Init: openInit(s)}
		if name := p.Spec.SchedulerName; w.Node == "" && name != defaultScheduler {
			w.Scheduler = training.KeptName(name)
		}
		return w
	case s.Phase == isRunning:
		return halfEnded(s)
	case s.Phase == hasFailed:
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && owner.Kind == schema.Jobs().Kind {
			return &training.PodWait{Ended: lastEnd(s)}
		}
	}
	return nil
}

// isNodeLost reports whether the node of a pod does not answer: the node controller evicts the pod, or says that it is not ready
// although its kubelet said last that all containers are.
func isNodeLost(s *lean.Status) bool {
	if c := condition(s, disruptionTarget, isTrue); c != nil && c.Reason == "DeletionByTaintManager" {
		return true
	}
	c := condition(s, ready, isFalse)
	if c == nil || c.Reason != "" || s.Phase != isRunning || len(s.Containers) == 0 {
		return false
	}
	for i := range s.Containers {
		if !s.Containers[i].Ready {
			return false
		}
	}
	return true
}

// openInit returns the name of the init container that keeps a pod from starting: the last one that has begun, as a kubelet starts them
// in order, unless it has ended well or is a sidecar that is ready.
func openInit(s *lean.Status) string {
	for i := len(s.InitContainers) - 1; i >= 0; i-- {
		c := &s.InitContainers[i]
		if w := c.State.Waiting; w != nil && c.RestartCount == 0 {
			continue
		}
		if t := c.State.Terminated; t != nil && t.ExitCode == 0 || c.Ready {
			return ""
		}
		return training.KeptName(c.Name)
	}
	return ""
}

// halfEnded returns when containers of a running pod ended while another one runs on; nil if none has ended.
func halfEnded(s *lean.Status) *training.PodWait {
	runsOn := ""
	for i := range s.Containers {
		if s.Containers[i].State.Terminated == nil {
			runsOn = s.Containers[i].Name
		}
	}
	end := lastEnd(s)
	if end.IsZero() || runsOn == "" {
		return nil
	}
	return &training.PodWait{Ended: end, RunsOn: training.KeptName(runsOn)}
}

// sameEnding reports whether two waits are equal for plans. What a pod that has not started waits for makes no difference: no reconcile
// is needed for each of its steps.
func sameEnding(was, is *training.PodWait) bool {
	if was == nil || is == nil || was.Ending == nil || is.Ending == nil {
		return (was == nil || was.Ending == nil) == (is == nil || is.Ending == nil)
	}
	return was.NodeLost == is.NodeLost && reflect.DeepEqual(was.Ending, is.Ending)
}

// slimService keeps what a service that is being deleted waits for.
func slimService(s *lean.Object) any {
	if e := training.EndingOf(s.DeletionTimestamp, s.Finalizers); e != nil {
		return e
	}
	return nil
}

// lastEnd returns when the container that ended last ended; zero if none has.
func lastEnd(s *lean.Status) (end time.Time) {
	for i := range s.Containers {
		if t := s.Containers[i].State.Terminated; t != nil && t.FinishedAt.After(end) {
			end = t.FinishedAt.Time
		}
	}
	return end
}

package operator

import (
	"strings"

	"stoic/internal/lean"
	"stoic/schema"
	"stoic/training"
)

// Names of pod conditions, their values, pod phases and a reason. This package reads them as text.
const (
	scheduled, disruptionTarget, ready = "PodScheduled", "DisruptionTarget", "Ready"
	isTrue, isFalse                    = "True", "False"
	hasFailed, hasSucceeded            = "Failed", "Succeeded"
	isPending, isRunning               = "Pending", "Running"
	defaultScheduler                   = "default-scheduler"
	schedulingGated                    = "SchedulingGated"
)

// problemOf returns the problem of a pod, or nil. Unknown reasons of another version of Kubernetes become
// ReasonPodCannotRun. The removal of the pod has precedence over what it waits for.
//
//	the pod                                                   reason
//	DisruptionTarget is True, and it has not succeeded        see disruptions
//	has failed, and its status names a reason                 see ending
//	a container waits for something other than its turn       see waits
//	PodScheduled is False                                     PodSchedulingGated, else PodUnschedulable
func problemOf(p *lean.Object) *training.PodProblem {
	s := &p.Status
	if s.Phase == hasSucceeded {
		return nil
	}
	if c := condition(s, disruptionTarget, isTrue); c != nil {
		return problem(named(disruptions(), c.Reason), said(c.Reason, c.Message))
	}
	if s.Phase == hasFailed {
		if s.Reason == "" {
			return nil // a container has failed, which is the job's own affair
		}
		return problem(ending(s.Reason), said(s.Reason, s.Message))
	}
	for _, containers := range [...][]lean.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			w := containers[i].State.Waiting
			if w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
				return problem(named(waits(), w.Reason), "container "+containers[i].Name+": "+said(w.Reason, w.Message))
			}
		}
	}
	if c := condition(s, scheduled, isFalse); c != nil {
		if c.Reason == schedulingGated {
			return problem(training.ReasonPodSchedulingGated, c.Message)
		}
		return problem(training.ReasonPodUnschedulable, c.Message)
	}
	return nil
}

func problem(reason, detail string) *training.PodProblem {
	return &training.PodProblem{Reason: reason, Detail: schema.Clean(detail, training.MaxPodDetail)}
}

// said joins a reason and a message, either of which may be empty.
func said(reason, message string) string {
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}

func condition(s *lean.Status, of, is string) *lean.Condition {
	for i := range s.Conditions {
		if string(s.Conditions[i].Type) == of && string(s.Conditions[i].Status) == is {
			return &s.Conditions[i]
		}
	}
	return nil
}

func named(known map[string]string, reason string) string {
	if name, ok := known[reason]; ok {
		return name
	}
	return training.ReasonPodCannotRun
}

// disruptions maps reasons of the condition DisruptionTarget.
func disruptions() map[string]string {
	return map[string]string{
		"PreemptionByScheduler":  training.ReasonPodPreempted,
		"TerminationByKubelet":   training.ReasonPodEvicted,
		"EvictionByEvictionAPI":  training.ReasonPodEvicted,
		"DeletionByTaintManager": training.ReasonPodNodeLost,
		"DeletionByPodGC":        training.ReasonPodNodeLost,
	}
}

// ending maps status.reason of a pod that has failed as a whole. When a resource is exhausted, the kubelet rejects pods
// with one reason for each resource: OutOfcpu, OutOfnvidia.com/gpu.
func ending(reason string) string {
	if strings.HasPrefix(reason, "OutOf") {
		return training.ReasonPodNotAdmitted
	}
	refused, evicted := training.ReasonPodNotAdmitted, training.ReasonPodEvicted
	return named(map[string]string{
		"Evicted": evicted, "Terminated": evicted, "Shutdown": evicted, "Preempting": training.ReasonPodPreempted, "NodeLost": training.ReasonPodNodeLost,
		"UnexpectedAdmissionError": refused, "TopologyAffinityError": refused, "SMTAlignmentError": refused, "SysctlForbidden": refused,
		"AppArmor": refused, "NodeShutdown": refused, "NodeAffinity": refused, "NodeName": refused, "NodePorts": refused,
		"PodOSNotSupported": refused, "PodOSSelectorNodeLabelDoesNotMatch": refused,
	}, reason)
}

// waits maps reasons of waiting containers.
func waits() map[string]string {
	image, container := training.ReasonPodImageFailed, training.ReasonPodContainerFailed
	return map[string]string{
		"ErrImagePull": image, "ImagePullBackOff": image, "InvalidImageName": image, "ErrImageNeverPull": image, "ImageInspectError": image,
		"RegistryUnavailable": image, "SignatureValidationFailed": image,
		"CreateContainerConfigError": container, "CreateContainerError": container, "RunContainerError": container,
		"PreCreateHookError": container, "PreStartHookError": container, "PostStartHookError": container,
		"CrashLoopBackOff": training.ReasonPodCrashLoop,
	}
}

package training

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is the status of a job, in wire form. It is output: what is read back is a claim by who
// wrote last, never a number to count on. The converter reads it leniently: what is not well-formed is
// left out and Unclean is set, so that the next plan repairs it.
type Status struct {
	// Conditions of the job; the last one is the state that kubectl shows.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
	// Replicas by replica type: how many are active, succeeded, failed.
	// +optional
	ReplicaStatuses map[string]ReplicaStatus `json:"replicaStatuses,omitempty"`
	// When the operator first accepted the job, or resumed it.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the job got its terminal condition.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Not used by this operator; kept for clients that read it.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
	// The generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Unclean: the object's status holds something that is not in this value.
	Unclean bool `json:"-"`
}

// Condition is one statement about a job.
type Condition struct {
	// Created, Running, Restarting, Suspended, Succeeded, Failed or Stalled.
	Type ConditionType `json:"type"`
	// True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// A word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// A sentence for readers.
	// +optional
	Message string `json:"message,omitempty"`
	// When the condition was last written.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// When status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// ReplicaStatus counts the replicas of one replica type.
type ReplicaStatus struct {
	// Running and not being deleted.
	// +optional
	Active int32 `json:"active,omitempty"`
	// Ended well.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// Ended badly.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Selects the pods of this replica type; for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
}

type ConditionType string

const (
	Created    ConditionType = "Created"
	Running    ConditionType = "Running"
	Restarting ConditionType = "Restarting"
	Suspended  ConditionType = "Suspended"
	Succeeded  ConditionType = "Succeeded"
	Failed     ConditionType = "Failed"
	// Stalled says that the spec is rejected. It precedes the lifecycle conditions:
	// the last condition is the state that kubectl and the SDK show.
	Stalled ConditionType = "Stalled"
)

// Condition returns the condition of that type, or nil.
func (s *Status) Condition(t ConditionType) *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// Is reports whether the condition of that type is True.
func (s *Status) Is(t ConditionType) bool {
	c := s.Condition(t)
	return c != nil && c.Status == metav1.ConditionTrue
}

// Terminal returns Succeeded or Failed if the job is over, else "". A Failed with ReasonInvalidSpec
// is no terminal condition: it is removed when the spec is repaired.
func (s *Status) Terminal() ConditionType {
	if s.Is(Succeeded) {
		return Succeeded
	}
	if s.Is(Failed) && s.Condition(Failed).Reason != ReasonInvalidSpec {
		return Failed
	}
	return ""
}

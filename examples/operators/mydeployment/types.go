package mydeployment

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MyDeployment keeps a number of equal pods, and replaces them step by step when their template changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=mydeployments,singular=mydeployment,shortName=myd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MyDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MyDeploymentSpec   `json:"spec"`
	Status            MyDeploymentStatus `json:"status,omitempty"`
}

// MyDeploymentSpec says which pods there are to be.
//
// +kubebuilder:validation:XValidation:rule="!has(self.progressDeadlineSeconds) || !has(self.minReadySeconds) || self.progressDeadlineSeconds > self.minReadySeconds",message="progressDeadlineSeconds must be greater than minReadySeconds"
type MyDeploymentSpec struct {
	// How many pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty" stoic:"min=0"`
	// Which pods are counted. The labels of the template must match it. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.selector is immutable"
	Selector metav1.LabelSelector `json:"selector" stoic:"required"`
	// What the pods are like. A change replaces them.
	Template *corev1.PodTemplateSpec `json:"template" stoic:"required"`
	// How pods are replaced.
	// +kubebuilder:default={}
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
	// For how long a pod must be ready, without interruption, to be available.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" stoic:"min=0"`
	// After how long without progress the condition Progressing is False. The pods are left as they are, and the roll-out
	// continues when it can.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" stoic:"min=1"`

	// Stored is the template as it is stored: fields that this program does not know reach the pods.
	Stored json.RawMessage `json:"-"`
	// Hash of what is stored; pods are labelled with it.
	Hash string `json:"-"`
	// Labels of the template.
	Labels map[string]string `json:"-"`
}

// Strategy says how many pods there may be more, and fewer, than replicas. Not both can be zero.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && has(self.maxUnavailable) && [self.maxSurge, self.maxUnavailable].all(v, type(v) == int ? v == 0 : string(v) in ['0%', '00%', '000%']))",message="maxSurge and maxUnavailable cannot both be zero"
type Strategy struct {
	// How many pods there may be in addition to replicas, those that are terminating counted: a number, or a share of replicas
	// that is rounded up.
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) != int || int(self) >= 0",message="must not be negative"
	// +kubebuilder:validation:Pattern=`^[0-9]{1,4}%$`
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" stoic:"min=0,pattern=^[0-9]{1,4}%$"`
	// How many pods may be unavailable when others are deleted: a number, or a share of replicas that is rounded down.
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) != int || int(self) >= 0",message="must not be negative"
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" stoic:"min=0,pattern=^(100|[0-9]{1,2})%$"`
}

// MyDeploymentStatus is what the operator has found.
type MyDeploymentStatus struct {
	// Pods that are neither terminating nor finished.
	// +optional
	Replicas int32 `json:"replicas"`
	// Of these, those that are ready,
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// those that have the present template,
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// and those that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// The selector in the form that the scale subresource wants.
	// +optional
	Selector string `json:"selector,omitempty"`
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// When the roll-out has last come closer to its end.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`
	// How often in a row failed pods were replaced, and when last. The next replacement waits the longer the more there were.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// +optional
	LastReplacementTime *metav1.Time `json:"lastReplacementTime,omitempty"`
	// Available: there are at least as many available pods as the strategy asks for. Progressing: the roll-out is complete, or
	// comes closer to its end. Stalled: the spec is malformed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

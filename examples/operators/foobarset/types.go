package foobarset

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func sets() schema.Resource {
	return schema.Resource{Group: group, Version: "v1alpha1", Plural: "foobarsets", Kind: "FooBarSet"}
}

func tasks() schema.Resource {
	return schema.Resource{Group: group, Version: "v1alpha1", Plural: "foobartasks", Kind: "FooBarTask"}
}

// FooBarSet runs a number of tasks to their end.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=foobarsets,singular=foobarset,shortName=fbs
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.count,statuspath=.status.tasks
// +kubebuilder:printcolumn:name="Count",type=integer,JSONPath=`.spec.count`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FooBarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooBarSetSpec   `json:"spec"`
	Status            FooBarSetStatus `json:"status,omitempty"`
}

// FooBarSetSpec says which tasks there are to be. All of it may be changed.
type FooBarSetSpec struct {
	// How many tasks there are. The ones with the highest numbers go when there are to be fewer, whatever has become of them.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	Count *int32 `json:"count,omitempty" stoic:"min=0,max=1000"`
	// What each task runs. When it changes, tasks of the new template are made, and then those of the former one are deleted.
	Template FooBarTaskSpec `json:"template" stoic:"required"`
}

// fill fills in the defaults.
func (s *FooBarSet) fill() {
	one := int32(1)
	s.Spec.Count = cmp.Or(s.Spec.Count, &one)
	s.Spec.Template.fill()
}

// FooBarSetStatus is what the operator has found. It has the same size however many tasks there are.
type FooBarSetStatus struct {
	// How many tasks exist of those that the spec asks for; while the spec is malformed, how many exist.
	// +optional
	Tasks int32 `json:"tasks,omitempty"`
	// How many of these have a Job that has not ended.
	// +optional
	Active int32 `json:"active,omitempty"`
	// How many of these have succeeded.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// How many of these have failed, or are malformed.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: the tasks that the spec asks for exist, and no others. Complete: all of them have succeeded. Stalled: they never
	// will, unless something is changed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FooBarTask is one run of one container. FooBarSets make them; users have no need to write any.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=foobartasks,singular=foobartask,shortName=fbt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FooBarTask struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooBarTaskSpec   `json:"spec"`
	Status            FooBarTaskStatus `json:"status,omitempty"`
}

// fill fills in the defaults.
func (t *FooBarTask) fill() { t.Spec.fill() }

// FooBarTaskSpec says what runs. It is read when the Job is made: who edits it afterwards changes nothing.
type FooBarTaskSpec struct {
	// The image of the container.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S+$`
	Image string `json:"image" stoic:"required,minLength=1,maxLength=1024,pattern=^\\S+$"`
	// The command of the container. The default is that of the image.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty" stoic:"maxItems=100"`
	// How often the container is tried again when it fails. The default is 3.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=3
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty" stoic:"min=0,max=100"`
}

func (s *FooBarTaskSpec) fill() {
	three := int32(3)
	s.BackoffLimit = cmp.Or(s.BackoffLimit, &three)
}

// FooBarTaskStatus is what the operator has found.
type FooBarTaskStatus struct {
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: the Job exists, or has ended. Complete: it has succeeded. Stalled: it never will. A task whose Job has ended is
	// not run again.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

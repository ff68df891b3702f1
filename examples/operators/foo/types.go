package foo

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Foo keeps a Deployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=foos,singular=foo,shortName=fo
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, an example"
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec   `json:"spec"`
	Status            FooStatus `json:"status,omitempty"`
}

// FooSpec says which Deployment there is to be. All of it may be changed.
type FooSpec struct {
	// The name of the Deployment. When it changes, the Deployment of the former name is deleted once the new one exists. It is a
	// label of its pods, too, so it has at most 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	DeploymentName string `json:"deploymentName" stoic:"required,minLength=1,name=dnsLabel"`
	// How many pods the Deployment has. A number that no cluster has room for would keep the Deployment controller from all others.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty" stoic:"min=0,max=1000"`
}

// FooStatus is what the operator has found.
type FooStatus struct {
	// How many pods of the Deployment are available.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: the Deployment is as the spec says, and all of its pods are available. Stalled: it never will be, unless somebody
	// changes the spec.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

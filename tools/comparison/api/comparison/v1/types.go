package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Foo keeps a Deployment.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec   `json:"spec"`
	Status            FooStatus `json:"status,omitempty"`
}

// FooSpec says which Deployment there is to be.
type FooSpec struct {
	// The name of the Deployment.
	DeploymentName string `json:"deploymentName" stoic:"required,minLength=1,name=dnsSubdomain"`
	// How many pods it has.
	Replicas int32 `json:"replicas" stoic:"required,min=0,max=10"`
}

// FooStatus is what the operator has found.
type FooStatus struct {
	// How many pods are available.
	AvailableReplicas int32 `json:"availableReplicas"`
	// Stalled: the spec is malformed.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FooList is what the API server answers to a list.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Foo `json:"items"`
}

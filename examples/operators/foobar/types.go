package foobar

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/convert/versions"
)

// FooBar keeps a ConfigMap.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=foobars,singular=foobar,shortName=fb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.status.target`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FooBar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooBarSpec   `json:"spec"`
	Status            FooBarStatus `json:"status,omitempty"`
}

// FooBarSpec says which ConfigMap there is to be. All of it may be changed.
type FooBarSpec struct {
	// The name of the ConfigMap. When it changes, the ConfigMap of the former name is deleted once the new one exists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Target string `json:"target" stoic:"required,minLength=1,name=dnsSubdomain"`
	// What the ConfigMap says of itself. The default is Copy.
	// +kubebuilder:validation:Enum=Copy;Link
	// +optional
	Type string `json:"type,omitempty" stoic:"enum=Copy;Link"`
	// The namespace of the ConfigMap. The default is that of the FooBar.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty" stoic:"name=dnsLabel"`
}

// FooBarStatus is what the operator has found.
type FooBarStatus struct {
	// The name of the ConfigMap that was last known to exist.
	// +optional
	Target string `json:"target,omitempty"`
	// The namespace of that ConfigMap.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: the ConfigMap is as the spec says. Stalled: it never will be, until the spec is changed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterFooBar keeps a ConfigMap in some namespace, and has none itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterfoobars,singular=clusterfoobar,shortName=cfb,scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.targetNamespace`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.status.target`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterFooBar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ClusterFooBarSpec `json:"spec"`
	Status            FooBarStatus      `json:"status,omitempty"`
}

// ClusterFooBarSpec is a FooBarSpec that must name a namespace.
type ClusterFooBarSpec struct {
	// The name of the ConfigMap. When it changes, the ConfigMap of the former name is deleted once the new one exists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Target string `json:"target" stoic:"required,minLength=1,name=dnsSubdomain"`
	// What the ConfigMap says of itself. The default is Copy.
	// +kubebuilder:validation:Enum=Copy;Link
	// +optional
	Type string `json:"type,omitempty" stoic:"enum=Copy;Link"`
	// The namespace of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	TargetNamespace string `json:"targetNamespace" stoic:"required,minLength=1,name=dnsLabel"`
}

// Versions returns the versions of a FooBar. In v1beta1 the type is called mode; all else is the same, so nothing is ever lost.
func Versions() versions.Kind {
	return versions.Kind{Group: group, Name: "FooBar", Hub: "v1alpha1", Annotation: group + "/conversion",
		Versions: []versions.Version{{Name: "v1beta1", Moves: []versions.Move{{Here: "spec.mode", Hub: "spec.type"}}}}}
}

package lean

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what is read of a pod, a service, or the metadata of any object. Of protobuf that is, of the metadata, what
// metadata lists; of JSON it may be more. Its fields are named as in the API, so that JSON is read as well.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status"`
	// names are the labels and annotations that are read of protobuf; nil is all.
	names []string
}

// Spec of a pod. What it reads from a service has no meaning.
type Spec struct {
	// NodeName is the node that the pod was bound to; empty if there is none yet.
	NodeName string `json:"nodeName"`
	// SchedulerName is the scheduler that is to bind the pod.
	SchedulerName string `json:"schedulerName"`
}

// Status of a pod; empty of everything else.
type Status struct {
	Phase corev1.PodPhase `json:"phase"`
	// Reason and Message say why the pod failed as a whole: evicted, or not admitted by its node.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Conditions are, of protobuf, those that say that the pod is ready, or cannot run: see isReady, isTrouble and isLost.
	Conditions     []Condition `json:"conditions"`
	InitContainers []Container `json:"initContainerStatuses"`
	Containers     []Container `json:"containerStatuses"`
}

// Condition of a pod.
type Condition struct {
	Type    corev1.PodConditionType `json:"type"`
	Status  corev1.ConditionStatus  `json:"status"`
	Reason  string                  `json:"reason"`
	Message string                  `json:"message"`
	// LastTransitionTime is when it became so.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// Container is how one container of a pod fares.
type Container struct {
	Name         string `json:"name"`
	RestartCount int32  `json:"restartCount"`
	// Ready: it passes its readiness probe or, if it is an ordinary init container, has ended well.
	Ready bool  `json:"ready"`
	State State `json:"state"`
	// LastState has Terminated if the kubelet restarted the container.
	LastState State `json:"lastState"`
}

// State of a container now. One of the two at most is set; none while it runs.
type State struct {
	Waiting    *Waiting    `json:"waiting"`
	Terminated *Terminated `json:"terminated"`
}

// Waiting is why a container does not run yet, or not again.
type Waiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Terminated is how a container ended.
type Terminated struct {
	ExitCode   int32       `json:"exitCode"`
	Signal     int32       `json:"signal"`
	Reason     string      `json:"reason"`
	FinishedAt metav1.Time `json:"finishedAt"`
}

// List is a page of objects.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Object `json:"items"`
	names           []string
}

var _, _ runtime.Object = (*Object)(nil), (*List)(nil)

// DeepCopyObject returns a copy that shares what no one writes to.
func (o *Object) DeepCopyObject() runtime.Object {
	c := *o
	return &c
}

// DeepCopyObject returns a copy that shares what no one writes to.
func (l *List) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// Reset is called before Unmarshal.
func (o *Object) Reset() { *o = Object{names: o.names} }

// Reset is called before Unmarshal.
func (l *List) Reset() { *l = List{names: l.names} }

// kept reports whether a label or an annotation is read. client-go itself needs one annotation.
func kept(name string, names []string) bool {
	return names == nil || slices.Contains(names, name) || name == metav1.InitialEventsAnnotationKey
}

// Unmarshal reads a v1.Pod, a v1.Service or a PartialObjectMetadata: all begin with the metadata. The spec and the
// status that it reads from a service have no meaning.
func (o *Object) Unmarshal(data []byte) error {
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			return eachField(f.bytes, func(f field) error { return metadata(&o.ObjectMeta, f, o.names) })
		case 2:
			return eachField(f.bytes, o.Spec.read)
		case 3:
			return eachField(f.bytes, o.Status.read)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read a protobuf object: %w", err)
	}
	return nil
}

// Unmarshal reads a v1.PodList or a v1.ServiceList.
func (l *List) Unmarshal(data []byte) error {
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			return l.ListMeta.Unmarshal(f.bytes)
		case 2:
			l.Items = append(l.Items, Object{names: l.names})
			return l.Items[len(l.Items)-1].Unmarshal(f.bytes)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read a protobuf list: %w", err)
	}
	return nil
}

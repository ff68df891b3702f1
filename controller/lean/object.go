package lean

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"stoic/schema"
)

// Object is what is read of a pod, a service, or the metadata of any object. Of protobuf that is, of the metadata, what
// metadata lists; of JSON it may be more. Its fields are named as in the API, so that JSON is read as well.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            Status `json:"status"`
}

// Status of a pod; empty of everything else.
type Status struct {
	Phase          corev1.PodPhase `json:"phase"`
	InitContainers []Container     `json:"initContainerStatuses"`
	Containers     []Container     `json:"containerStatuses"`
}

// Container is how one container of a pod fares.
type Container struct {
	Name         string `json:"name"`
	RestartCount int32  `json:"restartCount"`
	State        State  `json:"state"`
}

// State of a container now. Terminated is nil while it runs, or waits.
type State struct {
	Terminated *Terminated `json:"terminated"`
}

// Terminated is how a container ended.
type Terminated struct {
	ExitCode int32 `json:"exitCode"`
}

// List is a page of objects.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Object `json:"items"`
}

var _, _ runtime.Object = (*Object)(nil), (*List)(nil)

// DeepCopyObject gives a copy that shares what nobody writes to.
func (o *Object) DeepCopyObject() runtime.Object {
	c := *o
	return &c
}

// DeepCopyObject gives a copy that shares what nobody writes to.
func (l *List) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// Reset is called before Unmarshal.
func (o *Object) Reset() { *o = Object{} }

// Reset is called before Unmarshal.
func (l *List) Reset() { *l = List{} }

// kept are the labels and annotations that are read.
func kept(name string) bool {
	switch name {
	case schema.LabelOperator, schema.LabelRole, schema.AnnotationRestartCount, schema.AnnotationLedger, metav1.InitialEventsAnnotationKey:
		return true
	}
	return false
}

// Unmarshal reads a v1.Pod, a v1.Service or a PartialObjectMetadata: all begin with the metadata. What it makes of a
// service's status, which is no pod's, says nothing.
func (o *Object) Unmarshal(data []byte) error {
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			return eachField(f.bytes, func(f field) error { return metadata(&o.ObjectMeta, f) })
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
			l.Items = append(l.Items, Object{})
			return l.Items[len(l.Items)-1].Unmarshal(f.bytes)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read a protobuf list: %w", err)
	}
	return nil
}

package lean

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message: bytes has a text, bytes or a message, varint has a number.
type field struct {
	number protowire.Number
	bytes  []byte
	varint uint64
}

func (f field) text() string { return string(f.bytes) }

var errBroken = errors.New("a field is cut off or of an unknown form")

// eachField calls read for every field of a message, in order, until it fails.
func eachField(message []byte, read func(field) error) error {
	for len(message) > 0 {
		number, form, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errBroken
		}
		message = message[n:]
		f := field{number: number}
		switch form {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, form, message)
		}
		if n < 0 {
			return errBroken
		}
		message = message[n:]
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}

// metadata reads a field of an ObjectMeta.
func metadata(m *metav1.ObjectMeta, f field, names []string) (err error) {
	switch f.number {
	case 1:
		m.Name = f.text()
	case 3:
		m.Namespace = f.text()
	case 5:
		m.UID = types.UID(f.bytes)
	case 6:
		m.ResourceVersion = f.text()
	case 7:
		m.Generation = int64(f.varint)
	case 8:
		err = m.CreationTimestamp.Unmarshal(f.bytes)
	case 9:
		m.DeletionTimestamp = &metav1.Time{}
		err = m.DeletionTimestamp.Unmarshal(f.bytes)
	case 11:
		m.Labels, err = entry(m.Labels, f.bytes, names)
	case 12:
		m.Annotations, err = entry(m.Annotations, f.bytes, names)
	case 13:
		var owner metav1.OwnerReference
		err = owner.Unmarshal(f.bytes)
		m.OwnerReferences = append(m.OwnerReferences, owner)
	case 14:
		m.Finalizers = append(m.Finalizers, f.text())
	}
	return err
}

// entry reads one entry of a map, if it is kept.
func entry(known map[string]string, message []byte, names []string) (map[string]string, error) {
	var name, value []byte
	err := eachField(message, func(f field) error {
		switch f.number {
		case 1:
			name = f.bytes
		case 2:
			value = f.bytes
		}
		return nil
	})
	if err != nil || !kept(string(name), names) {
		return known, err
	}
	if known == nil {
		known = map[string]string{}
	}
	known[string(name)] = string(value)
	return known, err
}

// read reads a field of a PodSpec.
func (s *Spec) read(f field) error {
	switch f.number {
	case 10:
		s.NodeName = f.text()
	case 19:
		s.SchedulerName = schedulerName(f.bytes)
	}
	return nil
}

// schedulerName returns the name of a scheduler. That of most pods allocates nothing.
func schedulerName(text []byte) string {
	if string(text) == corev1.DefaultSchedulerName {
		return corev1.DefaultSchedulerName
	}
	return string(text)
}

// read reads a field of a PodStatus.
func (s *Status) read(f field) (err error) {
	switch f.number {
	case 1:
		s.Phase = phase(f.bytes)
	case 2:
		s.Conditions, err = condition(s.Conditions, f.bytes)
	case 3:
		s.Message = f.text()
	case 4:
		s.Reason = f.text()
	case 8:
		s.Containers, err = container(s.Containers, f.bytes)
	case 10:
		s.InitContainers, err = container(s.InitContainers, f.bytes)
	}
	return err
}

// phase returns a known phase without allocating a string.
func phase(text []byte) corev1.PodPhase {
	for _, known := range [...]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown} {
		if string(text) == string(known) {
			return known
		}
	}
	return corev1.PodPhase(text)
}

// condition reads a condition of a pod, if it says that the pod is ready or cannot run. All others, which every pod
// has, allocate nothing.
func condition(known []Condition, message []byte) ([]Condition, error) {
	var kind, status, reason, text, since []byte
	err := eachField(message, func(f field) error {
		switch f.number {
		case 1:
			kind = f.bytes
		case 2:
			status = f.bytes
		case 4:
			since = f.bytes
		case 5:
			reason = f.bytes
		case 6:
			text = f.bytes
		}
		return nil
	})
	if err != nil || !isTrouble(string(kind), string(status)) && !isReady(string(kind), string(status)) && !isLost(string(kind), string(status), string(reason)) {
		return known, err
	}
	c := Condition{Type: corev1.PodConditionType(kind), Status: corev1.ConditionStatus(status), Reason: string(reason), Message: string(text)}
	if err := c.LastTransitionTime.Unmarshal(since); err != nil {
		return known, err
	}
	return append(known, c), nil
}

// isReady reports whether a condition says that the pod is ready. Of the Ready conditions that are not true only those of isLost
// are kept.
func isReady(kind, status string) bool {
	return kind == string(corev1.PodReady) && status == string(corev1.ConditionTrue)
}

// isTrouble reports whether the scheduler has no node for the pod, or something other than its user is about to end it.
func isTrouble(kind, status string) bool {
	return kind == string(corev1.PodScheduled) && status == string(corev1.ConditionFalse) ||
		kind == string(corev1.DisruptionTarget) && status == string(corev1.ConditionTrue)
}

// isLost reports whether a condition says that the node of the pod does not answer: the node controller makes Ready false and gives
// no reason, as the kubelet does.
func isLost(kind, status, reason string) bool {
	return kind == string(corev1.PodReady) && status == string(corev1.ConditionFalse) && reason == ""
}

func container(known []Container, message []byte) ([]Container, error) {
	var c Container
	err := eachField(message, c.read)
	return append(known, c), err
}

// read reads a field of a ContainerStatus.
func (c *Container) read(f field) error {
	switch f.number {
	case 1:
		c.Name = f.text()
	case 2:
		return eachField(f.bytes, c.State.read)
	case 3:
		return eachField(f.bytes, c.LastState.read)
	case 4:
		c.Ready = f.varint != 0
	case 5:
		c.RestartCount = int32(f.varint)
	}
	return nil
}

// read reads a field of a ContainerState.
func (s *State) read(f field) error {
	switch f.number {
	case 1:
		if s.Waiting == nil {
			s.Waiting = &Waiting{}
		}
		return eachField(f.bytes, s.Waiting.read)
	case 3:
		s.Terminated = &Terminated{}
		return eachField(f.bytes, s.Terminated.read)
	}
	return nil
}

// read reads a field of a ContainerStateWaiting.
func (w *Waiting) read(f field) error {
	switch f.number {
	case 1:
		w.Reason = f.text()
	case 2:
		w.Message = f.text()
	}
	return nil
}

// read reads a field of a ContainerStateTerminated.
func (t *Terminated) read(f field) error {
	switch f.number {
	case 1:
		t.ExitCode = int32(f.varint)
	case 2:
		t.Signal = int32(f.varint)
	case 3:
		t.Reason = f.text()
	case 6:
		return t.FinishedAt.Unmarshal(f.bytes)
	}
	return nil
}

package lean

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Accept requests the metadata of an object in place of all of it, as protobuf or, if the server does not know that, as JSON.
const Accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// magic is what API servers put before protobuf.
var magic = []byte("k8s\x00")

// Answer reads the metadata from what an API server answered to a request for a single object. It returns empty metadata for a Status,
// and an error for what is neither protobuf nor JSON.
func Answer(body []byte) (*metav1.ObjectMeta, error) {
	if bytes.HasPrefix(body, magic) {
		return answerProtobuf(body)
	}
	var answer struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read an answer in JSON: %w", err)
	}
	if answer.Kind == statusKind {
		return &metav1.ObjectMeta{}, nil
	}
	return &answer.Metadata, nil
}

func answerProtobuf(body []byte) (*metav1.ObjectMeta, error) {
	kind, raw, err := unwrap(body)
	if err != nil {
		return nil, fmt.Errorf("read an answer in protobuf: %w", err)
	}
	var o Object
	if kind == statusKind {
		return &o.ObjectMeta, nil
	}
	return &o.ObjectMeta, o.Unmarshal(raw)
}

// unwrap splits a runtime.Unknown, in which API servers wrap objects. raw is a part of body.
func unwrap(body []byte) (kind string, raw []byte, err error) {
	body, found := bytes.CutPrefix(body, magic)
	if !found {
		return "", nil, errBroken
	}
	err = eachField(body, func(f field) error {
		switch f.number {
		case 1:
			return eachField(f.bytes, func(f field) error {
				if f.number == 2 {
					kind = f.text()
				}
				return nil
			})
		case 2:
			raw = f.bytes
		}
		return nil
	})
	return kind, raw, err
}

const statusKind = "Status"

// NamespaceGone reports whether an error says that a namespace is being deleted, or does not exist: a creation in it is answered with a
// 404 that names the namespace. Any other 404 to a creation is a webhook's, or the resource is no longer served.
func NamespaceGone(err error) bool {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces" {
		return true
	}
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

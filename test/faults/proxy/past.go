package proxy

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listForm returns the Accept header of a list in the form that a watch requested for its objects.
func listForm(accept string) string {
	return strings.ReplaceAll(accept, "as=PartialObjectMetadata;", "as=PartialObjectMetadataList;")
}

// added converts a list to the events with which a watch begins, and returns the version after them. If ended, a bookmark marks their end.
func added(list []byte, ended bool) ([]*frame, string, error) {
	var all struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta              `json:"metadata"`
		Items           []map[string]json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, "", fmt.Errorf("read a list as of the past: %w", err)
	}
	kind, err := json.Marshal(strings.TrimSuffix(all.Kind, "List"))
	if err != nil {
		return nil, "", fmt.Errorf("write a kind: %w", err)
	}
	version, err := json.Marshal(all.APIVersion)
	if err != nil {
		return nil, "", fmt.Errorf("write an apiVersion: %w", err)
	}
	frames := []*frame{}
	tell := func(event string, object any) error {
		raw, err := json.Marshal(map[string]any{"type": event, "object": object})
		if err != nil {
			return fmt.Errorf("write an event of the past: %w", err)
		}
		f, err := newFrame(raw)
		frames = append(frames, f)
		return err
	}
	for _, item := range all.Items {
		// The items of a list of a built-in kind have no kind and apiVersion.
		item["kind"], item["apiVersion"] = kind, version
		if err := tell("ADDED", item); err != nil {
			return nil, "", err
		}
	}
	if !ended {
		return frames, all.Metadata.ResourceVersion, nil
	}
	meta := map[string]any{"resourceVersion": all.Metadata.ResourceVersion, "creationTimestamp": nil, "annotations": map[string]string{initialEventsEnd: "true"}}
	err = tell(bookmark, map[string]any{"kind": json.RawMessage(kind), "apiVersion": json.RawMessage(version), "metadata": meta})
	return frames, all.Metadata.ResourceVersion, err
}

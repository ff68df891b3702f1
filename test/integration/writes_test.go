package integration

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

// What a user writes most. A process of kubectl for each cost a third of the processor time of all tests.

// namespace makes one for a test.
func (r *rig) namespace(t *testing.T, name string) string {
	t.Helper()
	if _, err := r.typed.CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// apply creates the objects of a manifest, as kubectl apply does; of those that exist it replaces everything but metadata and status, and
// adds its labels and annotations. Unknown fields are errors.
func (r *rig) apply(t *testing.T, ns, manifest string) {
	t.Helper()
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSONStrict(document)
		if err == nil && string(text) == "null" { // nothing but comments
			continue
		}
		if err == nil {
			err = u.UnmarshalJSON(text)
		}
		if err == nil {
			err = r.applyObject(ns, u)
		}
		if err != nil {
			t.Fatalf("apply %s: %v", document, err)
		}
	}
}

func (r *rig) applyObject(ns string, u *unstructured.Unstructured) error {
	mapping, err := r.mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if meta.IsNoMatchError(err) { // its CRD is newer than what is known of the server
		r.mapper.Reset()
		mapping, err = r.mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	}
	if err != nil {
		return err
	}
	client := dynamic.ResourceInterface(r.dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if named := u.GetNamespace(); named != "" {
			ns = named
		}
		client = r.dynamic.Resource(mapping.Resource).Namespace(ns)
	}
	_, err = client.Create(context.Background(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := client.Get(context.Background(), u.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		next := u.DeepCopy()
		next.Object["metadata"] = now.Object["metadata"]
		next.SetLabels(merged(now.GetLabels(), u.GetLabels()))
		next.SetAnnotations(merged(now.GetAnnotations(), u.GetAnnotations()))
		if status, ok := now.Object["status"]; ok {
			next.Object["status"] = status
		}
		_, err = client.Update(context.Background(), next, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}

func merged(now, more map[string]string) map[string]string {
	if len(now)+len(more) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, now)
	maps.Copy(all, more)
	return all
}

// mergePatch patches an object, or its status. A patch may be YAML, as for kubectl.
func mergePatch(t *testing.T, objects dynamic.ResourceInterface, name, patch string, subresources ...string) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Patch(context.Background(), name, types.MergePatchType, text, metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatalf("patch %s: %v", name, err)
	}
}

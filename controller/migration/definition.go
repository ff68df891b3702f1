package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

func (m *Migration) definitions() dynamic.ResourceInterface {
	return m.crds.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}

func (m *Migration) definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	u, err := m.definitions().Get(ctx, m.CRD, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the CRD %s: %w", m.CRD, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return nil, fmt.Errorf("read the CRD %s: %w", m.CRD, err)
	}
	return crd, nil
}

// migrationFailed reports whether the last StorageVersionMigration of the CRD has failed. Kubernetes sets status.storedVersions to the
// storage version after a failure, too (seen with 1.37.2), although objects may be stored in other versions.
func migrationFailed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.StorageMigrating && c.Status == apiextensionsv1.ConditionFalse && c.Reason == "MigrationFailed"
	})
}

// mayDo checks the rights that a migration needs, so that it does not begin what it cannot end. If the check itself is forbidden, the
// requests report what is missing.
func (m *Migration) mayDo(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	of := authorizationv1.ResourceAttributes{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	get, list, patch := of, of, of
	get.Verb, list.Verb, patch.Verb = "get", "list", "patch"
	needed := []authorizationv1.ResourceAttributes{get, list, patch}
	if !m.DryRun {
		needed = append(needed, authorizationv1.ResourceAttributes{Verb: "patch", Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Subresource: "status", Name: m.CRD})
	}
	var missing []string
	for _, right := range needed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		answer, err := m.rights.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return fmt.Errorf("ask for the rights that it needs: %w", err)
		case !answer.Status.Allowed:
			resource := schema.GroupResource{Group: right.Group, Resource: right.Resource}.String()
			if right.Subresource != "" {
				resource = right.Resource + "/" + right.Subresource + "." + right.Group
			}
			missing = append(missing, right.Verb+" "+resource)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the right is missing to %s, in all namespaces", strings.Join(missing, ", to "))
	}
	return nil
}

// errChanged: the CRD has changed since the objects were written.
var errChanged = errors.New("the CRD was changed meanwhile; run it again")

// finish removes all versions but the stored one from the list of the CRD, if the CRD has not been changed.
func (m *Migration) finish(ctx context.Context, begun *apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	var conflict error
	for range attempts {
		now, err := m.definition(ctx)
		if err != nil {
			return begun.Status.StoredVersions, err
		}
		if now.UID != begun.UID || now.Generation != begun.Generation {
			return now.Status.StoredVersions, errChanged
		}
		k, err := kindOf(now)
		if err != nil {
			return now.Status.StoredVersions, err
		}
		if slices.Equal(now.Status.StoredVersions, []string{k.stored}) {
			return now.Status.StoredVersions, nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": now.ResourceVersion}, "status": map[string]any{"storedVersions": []string{k.stored}}})
		if err != nil {
			return now.Status.StoredVersions, fmt.Errorf("write a patch: %w", err)
		}
		if _, err := m.definitions().Patch(ctx, m.CRD, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: m.Manager}, "status"); err == nil {
			return []string{k.stored}, nil
		} else if conflict = err; !apierrors.IsConflict(err) {
			return now.Status.StoredVersions, fmt.Errorf("all objects are written, but status.storedVersions of the CRD is not: %w", err)
		}
	}
	return begun.Status.StoredVersions, fmt.Errorf("all objects are written, but status.storedVersions of the CRD is not, as it is changed all the time: %w", conflict)
}

package verdict

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Definition returns what an API server would refuse of a definition: types, names, defaults and the rules in CEL, and the change from
// an old definition unless that is nil. It changes neither.
func Definition(crd, old *crdv1.CustomResourceDefinition) (refusals field.ErrorList, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the API server's library fails: %v", cause)
		}
	}()
	current, err := internalForm(crd)
	if err != nil {
		return nil, err
	}
	current.Status = apiextensions.CustomResourceDefinitionStatus{StoredVersions: storageVersions(current)} // as at its creation
	refusals = validation.ValidateCustomResourceDefinition(context.Background(), current)
	if old == nil {
		return refusals, nil
	}
	former, err := internalForm(old)
	if err != nil {
		return nil, err
	}
	if len(former.Status.StoredVersions) == 0 {
		former.Status.StoredVersions = storageVersions(former)
	}
	former.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
	former.ResourceVersion = "1"
	updated := current.DeepCopy()
	updated.Status = *former.Status.DeepCopy()
	updated.ResourceVersion = former.ResourceVersion
	updated.UID = former.UID
	for _, name := range storageVersions(current) { // which the API server adds
		if !slices.Contains(updated.Status.StoredVersions, name) {
			updated.Status.StoredVersions = append(updated.Status.StoredVersions, name)
		}
	}
	return append(refusals, validation.ValidateCustomResourceDefinitionUpdate(context.Background(), updated, former)...), nil
}

// storageVersions returns the versions that an API server writes into the status before it validates.
func storageVersions(crd *apiextensions.CustomResourceDefinition) (names []string) {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			names = append(names, version.Name)
		}
	}
	return names
}

// internalForm returns a definition with its defaults, in the form that an API server validates.
func internalForm(crd *crdv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	defaulted := crd.DeepCopy()
	crdv1.SetObjectDefaults_CustomResourceDefinition(defaulted)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := crdv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(defaulted, internal, nil); err != nil {
		return nil, fmt.Errorf("read the definition %q: %w", crd.Name, err)
	}
	return internal, nil
}

// Command crdcheck reports what an API server would reject in CustomResourceDefinitions, by the API server's own code. `stoic crd check`
// calls it:
//
//	standard input    JSON, one after another: {"crd": a CustomResourceDefinition, "old": the one that it replaces, or null}
//	standard output   a JSON list for each: [{"path", "type", "detail"}]
//
// It is in the module of the tools, because that code depends on the CEL compiler and much of an API server, on which the operator's
// module must not depend.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type question struct {
	CRD *crdv1.CustomResourceDefinition `json:"crd"`
	Old *crdv1.CustomResourceDefinition `json:"old"`
}

type refusal struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdcheck:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q question
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a definition: %w", err)
		}
		refused, err := ask(q)
		if err != nil {
			return err
		}
		if err := answers.Encode(refused); err != nil {
			return err
		}
	}
}

func ask(q question) ([]refusal, error) {
	crd, err := internal(q.CRD)
	if err != nil {
		return nil, err
	}
	crd.Status = apiextensions.CustomResourceDefinitionStatus{StoredVersions: stored(crd)} // as at its creation
	all := validation.ValidateCustomResourceDefinition(context.Background(), crd)
	if q.Old != nil {
		old, err := internal(q.Old)
		if err != nil {
			return nil, err
		}
		if len(old.Status.StoredVersions) == 0 {
			old.Status.StoredVersions = stored(old)
		}
		old.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
		old.ResourceVersion = "1"
		updated := crd.DeepCopy()
		updated.Status, updated.ObjectMeta.ResourceVersion, updated.UID = *old.Status.DeepCopy(), "1", old.UID
		for _, name := range stored(crd) { // which the API server adds
			if !slices.Contains(updated.Status.StoredVersions, name) {
				updated.Status.StoredVersions = append(updated.Status.StoredVersions, name)
			}
		}
		all = append(all, validation.ValidateCustomResourceDefinitionUpdate(context.Background(), updated, old)...)
	}
	return words(all), nil
}

// stored returns the versions that an API server writes into the status before it validates.
func stored(crd *apiextensions.CustomResourceDefinition) (names []string) {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			names = append(names, v.Name)
		}
	}
	return names
}

func internal(crd *crdv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	if crd == nil {
		return nil, errors.New("there is no definition")
	}
	crdv1.SetObjectDefaults_CustomResourceDefinition(crd)
	out := new(apiextensions.CustomResourceDefinition)
	if err := crdv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, out, nil); err != nil {
		return nil, fmt.Errorf("convert %s: %w", crd.Name, err)
	}
	return out, nil
}

// words returns the texts of the errors, each once.
func words(all field.ErrorList) []refusal {
	found, seen := []refusal{}, map[refusal]bool{}
	for _, err := range all {
		r := refusal{Path: err.Field, Type: string(err.Type), Detail: err.ErrorBody()}
		if !seen[r] {
			seen[r] = true
			found = append(found, r)
		}
	}
	return found
}

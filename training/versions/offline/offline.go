package offline

import (
	"strings"

	"stoic/convert"
	"stoic/schema"
	trainingversions "stoic/training/versions"
)

const group, version = "kubeflow.org", "v1"

// Options are what the manifests of some forms do not say.
type Options struct {
	// GPUsPerNode is how many GPUs, or other processing units, a node has, for an MPIJob of v1alpha1 that names the sum alone. 0: not
	// known. It was a flag of its operator.
	GPUsPerNode int64
}

// Result is an object in the form of today.
type Result struct {
	// Object is a copy, unless Form is "".
	Object map[string]any
	// Form that it was in: "TFJob of kubeflow.org/v1beta2". "": there is nothing to convert, as it is in the form of today, or no
	// training job.
	Form string
	// Moved says where values came from that stand in another place now.
	Moved []Moved
	// Lost are values that could not be carried; Filled are those that were written for the first time, since their absence means
	// another thing in v1 or since v1 has no default for them.
	Lost, Filled []Note
}

// Moved is a value that has another place, with all below it: "spec.backoffLimit".
type Moved struct{ From, To string }

// Note says what became of one value. Lost ones have paths in the object as it came, filled ones in the object as it is.
type Note struct{ Path, Text string }

// form is a way in which jobs of a kind were once written.
type form struct {
	group, kind string
	versions    []string
	convert     func(*conversion)
	// refused: nothing can convert it, and this says what to do instead.
	refused string
}

// forms are those that are known. An object of none of them, and of a version of our group, is an error if its kind is one of these.
func forms() []form {
	return []form{
		{group: group, kind: "TFJob", versions: []string{"v1"}, convert: flatPolicy},
		{group: group, kind: "TFJob", versions: []string{"v1beta2", "v1beta1", "v1alpha2"}, convert: table(trainingversions.TFJob())},
		{group: group, kind: "TFJob", versions: []string{"v1alpha1"}, refused: "write each item of `replicaSpecs` as a field of `tfReplicaSpecs`: Master, PS or Worker, after its `tfReplicaType`"},
		{group: group, kind: "PyTorchJob", versions: []string{"v1"}, convert: flatPolicy},
		{group: group, kind: "PyTorchJob", versions: []string{"v1beta2", "v1beta1", "v1alpha2"}, convert: table(pyTorchJob())},
		{group: group, kind: "PyTorchJob", versions: []string{"v1alpha1"}, refused: "write each item of `replicaSpecs` as a field of `pytorchReplicaSpecs`: Master or Worker, after its `replicaType`"},
		{group: group, kind: "MPIJob", versions: []string{"v1"}},
		{group: group, kind: "MPIJob", versions: []string{"v2beta1"}, convert: mpiV2beta1},
		{group: group, kind: "MPIJob", versions: []string{"v1alpha2"}, convert: mpiV1alpha2},
		{group: group, kind: "MPIJob", versions: []string{"v1alpha1"}, convert: mpiV1alpha1},
		{group: group, kind: "XGBoostJob", versions: []string{"v1"}},
		{group: "xgboostjob.kubeflow.org", kind: "XGBoostJob", versions: []string{"v1", "v1alpha1"}, convert: xgboost},
		{group: group, kind: "MXJob", versions: []string{"v1", "v1beta1", "v1alpha1"}, refused: "no operator runs MXJobs any more; write its training as a PyTorchJob, or its pods as a batch/v1 Job"},
	}
}

// Convert an object to kubeflow.org/v1. It does not change the object. Problems are what keeps it from being converted; the result
// is empty then.
func Convert(object map[string]any, o Options) (Result, []schema.Problem) {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	in, name, _ := strings.Cut(apiVersion, "/")
	var known []string
	for _, f := range forms() {
		if f.kind != kind || f.group != in {
			continue
		}
		for _, v := range f.versions {
			known = append(known, f.group+"/"+v)
			if v == name {
				return f.run(object, v, o)
			}
		}
	}
	if len(known) == 0 {
		return Result{Object: object}, nil
	}
	return Result{}, []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion", Found: schema.Quote(apiVersion), Want: convert.OneOf(known)}}
}

func (f form) run(object map[string]any, of string, o Options) (Result, []schema.Problem) {
	switch {
	case f.refused != "":
		return Result{}, []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion", Found: f.called(of) + ", which nothing converts", Hint: f.refused}}
	case f.convert == nil:
		return Result{Object: object}, nil
	}
	copied, _ := clone(object).(map[string]any)
	c := &conversion{form: f, version: of, options: o, object: copied}
	f.convert(c)
	if len(c.problems) > 0 {
		return Result{}, schema.SortProblems(c.problems)
	}
	if c.unchanged() {
		return Result{Object: object}, nil
	}
	c.object["apiVersion"] = group + "/" + version
	c.result.Object, c.result.Form = c.object, f.called(of)
	return c.result, nil
}

func (f form) called(version string) string { return f.kind + " of " + f.group + "/" + version }

// Forms are all that Convert converts, for help and documentation: "TFJob of kubeflow.org/v1beta2".
func Forms() (all []string) {
	for _, f := range forms() {
		for _, v := range f.versions {
			if f.convert != nil {
				all = append(all, f.called(v))
			}
		}
	}
	return all
}

package offline

import (
	"slices"
	"strings"

	"stoic/convert"
	"stoic/schema"
	trainingversions "stoic/training/versions"
)

const group, version = "kubeflow.org", "v1"

// Options are values that the manifests of some forms do not contain.
type Options struct {
	// GPUsPerNode is the number of GPUs, or other processing units, of a node, for an MPIJob of v1alpha1 that only has the total.
	// 0: unknown. It was a flag of that operator.
	GPUsPerNode int64
	// FromServed converts forms that this operator serves in another version, too: MPIJobs of v2beta1. Otherwise they stay as they are.
	FromServed bool
}

// Result is an object in its current form.
type Result struct {
	// Object is a copy, unless Form is "".
	Object map[string]any
	// Form is the form of the input: "TFJob of kubeflow.org/v1beta2". "": nothing was converted, because the input was already in
	// the current form, or is no training job.
	Form string
	// Moved holds values that are in another place now.
	Moved []Moved
	// Lost are values that could not be converted. Filled are values that were added, because their absence has another meaning in
	// v1 or because v1 has no default for them.
	Lost, Filled []Note
}

// Moved is a value that has moved with all below it: "spec.backoffLimit".
type Moved struct{ From, To string }

// Note says what happened to one value. Paths of lost values refer to the input, paths of filled values to the result.
type Note struct{ Path, Text string }

// form is a former way to write jobs of a kind.
type form struct {
	group, kind string
	versions    []string
	operator    string // that ran it
	served      bool   // by this operator, in a version of its own
	convert     func(*conversion)
	// refused is set if the form cannot be converted, and says what to do instead.
	refused string
}

// forms returns the known forms. An object of one of these kinds and groups in an unknown version is an error.
func forms() []form {
	return []form{
		{group: group, kind: "TFJob", versions: []string{"v1"}, operator: "tf-operator", convert: flatPolicy},
		{group: group, kind: "TFJob", versions: []string{"v1beta2", "v1beta1", "v1alpha2"}, operator: "tf-operator", convert: table(trainingversions.TFJob())},
		{group: group, kind: "TFJob", versions: []string{"v1alpha1"}, operator: "tf-operator", refused: "write each item of `replicaSpecs` as a field of `tfReplicaSpecs`: Master, PS or Worker, after its `tfReplicaType`"},
		{group: group, kind: "PyTorchJob", versions: []string{"v1"}, operator: "pytorch-operator", convert: flatPolicy},
		{group: group, kind: "PyTorchJob", versions: []string{"v1beta2", "v1beta1", "v1alpha2"}, operator: "pytorch-operator", convert: table(pyTorchJob())},
		{group: group, kind: "PyTorchJob", versions: []string{"v1alpha1"}, operator: "pytorch-operator", refused: "write each item of `replicaSpecs` as a field of `pytorchReplicaSpecs`: Master or Worker, after its `replicaType`"},
		{group: group, kind: "MPIJob", versions: []string{"v1"}, operator: "mpi-operator"},
		{group: group, kind: "MPIJob", versions: []string{"v2beta1"}, operator: "mpi-operator", served: true, convert: mpiV2beta1},
		{group: group, kind: "MPIJob", versions: []string{"v1alpha2"}, operator: "mpi-operator", convert: mpiV1alpha2},
		{group: group, kind: "MPIJob", versions: []string{"v1alpha1"}, operator: "mpi-operator", convert: mpiV1alpha1},
		{group: group, kind: "XGBoostJob", versions: []string{"v1"}, operator: "xgboost-operator"},
		{group: "xgboostjob.kubeflow.org", kind: "XGBoostJob", versions: []string{"v1", "v1alpha1"}, operator: "xgboost-operator", convert: xgboost},
		{group: group, kind: "MXJob", versions: []string{"v1", "v1beta1", "v1alpha1"}, operator: "mxnet-operator", refused: "no operator runs MXJobs any more; write its training as a PyTorchJob, or its pods as a batch/v1 Job"},
	}
}

// Convert converts an object to kubeflow.org/v1. It does not change the object. If there are problems, the result is empty.
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
	case f.convert == nil, f.served && !o.FromServed:
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

// Forms returns all forms that Convert converts, for help and documentation: "TFJob of kubeflow.org/v1beta2".
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

// Former is a form of a job that only an operator before this one ran.
type Former struct {
	Kind     string
	Operator string
	Converts bool   // Convert converts it
	Instead  string // what to do if not
}

// Find returns the form of a kind, in any case. Found is false if neither this operator nor an older one has this form.
func Find(apiVersion, kind string) (former Former, found bool) {
	in, name, _ := strings.Cut(apiVersion, "/")
	for _, f := range forms() {
		if strings.EqualFold(f.kind, kind) && f.group == in && slices.Contains(f.versions, name) {
			return Former{Kind: f.kind, Operator: f.operator, Converts: f.convert != nil, Instead: f.refused}, true
		}
	}
	return Former{}, false
}

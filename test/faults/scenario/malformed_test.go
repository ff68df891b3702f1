package scenario

import (
	"fmt"
	"testing"
)

// TestKinds: every operator has kinds that can be malformed, each kind belongs to one operator alone, and the objects to malform
// are valid. Kinds of an operator in two processes are tried with the same operator in one process, and kinds that a webhook
// converts where none does.
func TestKinds(t *testing.T) {
	owners, found := map[string]string{}, map[string]string{}
	for _, o := range Operators() {
		all, err := o.Kinds()
		if apart := len(o.Processes) > 0 || o.Converted != nil; err != nil || (len(all) == 0) != apart {
			t.Errorf("%s has %d kinds, %v", o.Name, len(all), err)
		}
		for _, k := range all {
			name := k.Resource.String()
			if owners[name] != "" {
				t.Errorf("%s is malformed for %s and for %s", name, owners[name], o.Name)
			}
			owners[name] = o.Name
			found[k.Name+"."+k.Resource.Version] = fmt.Sprint(o.Name, " ", len(k.Valid))
			for _, manifest := range k.Valid {
				u, err := Fill(manifest, Places{Namespace: "here", Elsewhere: "there"}, k.Cluster, "probe")
				if err != nil {
					t.Fatal(err)
				}
				if r := k.Convert(u); r.Object == nil || len(r.Warnings) > 0 {
					t.Errorf("a %s that is to be malformed is already: %+v, warnings %v", k.Name, r.Rejection, r.Warnings)
				}
			}
		}
	}
	for kind, want := range map[string]string{"JAXJob.v1": "training 1", "MPIJob.v1": "mpi 1", "MPIJob.v2beta1": "mpi-v2beta1 1", "PaddleJob.v1": "training 2", "PyTorchJob.v1": "training 2",
		"TFJob.v1": "training 1", "XGBoostJob.v1": "training 1", "FooBar.v1alpha1": "foobar 2", "ClusterFooBar.v1alpha1": "foobar 1",
		"FooBarSet.v1alpha1": "foobarset 1", "FooBarTask.v1alpha1": "foobarset 1", "Foo.v1alpha1": "foo 1"} {
		if found[kind] != want {
			t.Errorf("%s: operator and valid objects are %q, want %q", kind, found[kind], want)
		}
	}
}

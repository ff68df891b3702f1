package dropin

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	former "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	formerclient "github.com/kubeflow/training-operator/pkg/client/clientset/versioned/typed/kubeflow.org/v1"
	"golang.org/x/tools/go/packages"

	ours "stoic/clients/go/pkg/apis/kubeflow.org/v1"
	ourclient "stoic/clients/go/pkg/client/clientset/versioned/typed/kubeflow.org/v1"
)

// dropIn compares the client in Go of training-operator with ours, recursively by the types of fields and of method parameters. What only
// our client has is no difference.
type dropIn struct {
	seen  map[reflect.Type]bool
	found []string
}

func (d *dropIn) differs(format string, args ...any) {
	d.found = append(d.found, fmt.Sprintf(format, args...))
}

// renamed returns the path that a package of the former client has in ours.
func renamed(path string) string {
	return strings.Replace(path, "github.com/kubeflow/training-operator/", "stoic/clients/go/", 1)
}

// compare compares two types. The place says where they are.
func (d *dropIn) compare(place string, was, is reflect.Type) {
	if was.Kind() != is.Kind() || was.Name() != is.Name() || renamed(was.PkgPath()) != is.PkgPath() {
		d.differs("%s: was %s, is %s", place, was, is)
		return
	}
	if was == is || d.seen[was] {
		return
	}
	d.seen[was] = true
	switch was.Kind() {
	case reflect.Pointer, reflect.Slice:
		d.compare(place, was.Elem(), is.Elem())
	case reflect.Map:
		d.compare(place, was.Key(), is.Key())
		d.compare(place, was.Elem(), is.Elem())
	case reflect.Struct:
		for i := range was.NumField() {
			field := was.Field(i)
			of, there := is.FieldByName(field.Name)
			if !there {
				d.differs("%s.%s: is not there", was.Name(), field.Name)
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if called, _, _ := strings.Cut(of.Tag.Get("json"), ","); called != name {
				d.differs("%s.%s: was %q in JSON, is %q", was.Name(), field.Name, name, called)
			}
			d.compare(was.Name()+"."+field.Name, field.Type, of.Type)
		}
	case reflect.Interface:
		d.methods(was, is)
	}
}

// methods compares the exported methods of an interface.
func (d *dropIn) methods(was, is reflect.Type) {
	for i := range was.NumMethod() {
		method := was.Method(i)
		place := was.Name() + "." + method.Name
		of, there := is.MethodByName(method.Name)
		if !there {
			d.differs("%s: is not there", place)
			continue
		}
		if method.Type.NumIn() != of.Type.NumIn() || method.Type.NumOut() != of.Type.NumOut() {
			d.differs("%s: was %s, is %s", place, method.Type, of.Type)
			continue
		}
		for n := range method.Type.NumIn() {
			d.compare(place, method.Type.In(n), of.Type.In(n))
		}
		for n := range method.Type.NumOut() {
			d.compare(place, method.Type.Out(n), of.Type.Out(n))
		}
	}
}

// TestGoClientIsDropIn: a program for the client in Go of training-operator 1.9.4 finds in ours every type, field and method that it may
// use, but for those listed.
func TestGoClientIsDropIn(t *testing.T) {
	d := &dropIn{seen: map[reflect.Type]bool{}}
	d.compare("clientset", reflect.TypeFor[formerclient.KubeflowV1Interface](), reflect.TypeFor[ourclient.KubeflowV1Interface]())
	slices.Sort(d.found)
	want := []string{
		"PaddleElasticPolicyApplyConfiguration.Metrics: was v2.MetricSpec, is v2.MetricSpecApplyConfiguration", // as in 1.8; so it is of PyTorchJobs
		"ReplicaStatus.LabelSelector: is not there",                                                            // was never set
	}
	if diff := cmp.Diff(want, slices.Compact(d.found)); diff != "" {
		t.Errorf("differences, - expected + found:\n%s", diff)
	}
	if len(d.seen) < 60 {
		t.Errorf("%d types are compared", len(d.seen))
	}
}

// TestGoClientConstants: constants have the same names and values, but for those of what does not exist here.
func TestGoClientConstants(t *testing.T) {
	was, is := constantsOf(t, reflect.TypeFor[former.TFJob]().PkgPath()), constantsOf(t, reflect.TypeFor[ours.TFJob]().PkgPath())
	if len(was) < 70 {
		t.Errorf("%d constants", len(was))
	}
	for name, value := range was {
		if slices.Contains([]string{"MPIJobDefaultPort", "MPIJobDefaultPortName"}, name) {
			continue // a port that MPIJobs do not have
		}
		if is[name] != value {
			t.Errorf("%s was %s, is %q", name, value, is[name])
		}
	}
}

// constantsOf returns the values of the exported constants of a package, by name.
func constantsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedTypes}, path)
	if err != nil || len(loaded) != 1 || loaded[0].Types == nil {
		t.Fatalf("%s: %v, %v", path, loaded, err)
	}
	found := map[string]string{}
	scope := loaded[0].Types.Scope()
	for _, name := range scope.Names() {
		if constant, is := scope.Lookup(name).(*types.Const); is && constant.Exported() {
			found[name] = constant.Val().ExactString()
		}
	}
	return found
}

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// foobarIdle: an idle operator sends requests only for its lease, and now and then whether the API server still serves its resources.
func foobarIdle(t *testing.T, f *foobars, p *process) {
	f.awaitIdle(t, foobarUser, "foobar_operator", p)
}

// foobarKilled: the operator is killed after a ConfigMap was created and before the former one is deleted, and after everything
// was marked for deletion. It serves one namespace, and nevertheless observes the dependents of its FooBars in another.
func foobarKilled(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "killed"), f.namespace(t, "killed-there")
	p := f.start(t, "--namespace", ns)
	f.apply(t, ns, foobar("FooBar", "ten", "{target: a-0, targetNamespace: killed-there}"))
	f.apply(t, ns, foobar("FooBar", "eleven", "{target: b-0}"))
	f.awaitReady(t, ns, "ten", other+"/a-0")
	f.awaitReady(t, ns, "eleven", ns+"/b-0")
	for i := 1; i <= 3; i++ {
		changes, err := f.typed.CoreV1().ConfigMaps(other).Watch(context.Background(), metav1.ListOptions{LabelSelector: foobarLabel})
		if err != nil {
			t.Fatal(err)
		}
		f.patch(t, ns, "ten", fmt.Sprintf(`{"spec":{"target":"a-%d"}}`, i))
		for seen := 0; seen < i; { // the first round ends with the creation at the latest, the others a little later
			if e := <-changes.ResultChan(); e.Type == watch.Added {
				seen = i
			}
		}
		p.kill(t)
		changes.Stop()
		f.patch(t, ns, "eleven", fmt.Sprintf(`{"spec":{"target":"b-%d"}}`, i))
		if i == 2 { // and with an empty status
			f.kubectl(t, nil, "-n", ns, "patch", "foobar", "ten", "--subresource=status", "--type=merge", "-p", `{"status":null}`)
		}
		f.kubectl(t, nil, "-n", "test-operators", "delete", "lease", "foobar-operator") // else the next one waits until it expires
		p = f.start(t, "--namespace", ns)
		f.awaitReady(t, ns, "ten", fmt.Sprintf("%s/a-%d", other, i))
		f.awaitMaps(t, fmt.Sprintf("%s/a-%d=ten %s/b-%d=eleven", other, i, ns, i), ns, other)
	}
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "ten", "--wait=false")
	p.kill(t)
	f.kubectl(t, nil, "-n", "test-operators", "delete", "lease", "foobar-operator")
	p = f.start(t, "--namespace", ns)
	await(t, "the end of the FooBar", func() (bool, string) {
		u := f.read(t, ns, "ten")
		return u == nil, fmt.Sprint(u)
	})
	f.awaitMaps(t, ns+"/b-3=eleven", ns, other)
	p.stop(t)
}

// foobarRecreated: each FooBar of a name gets its own ConfigMap, which is deleted with it. In the FooBar's namespace garbage
// collection does that, at some time; in another namespace the ConfigMap is deleted before the FooBar.
func foobarRecreated(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "recreated"), f.namespace(t, "recreated-there")
	for _, place := range []string{ns, other} {
		seen := map[types.UID]bool{}
		for range 3 {
			f.apply(t, ns, foobar("FooBar", "fourteen", "{target: a, targetNamespace: "+place+"}"))
			f.awaitReady(t, ns, "fourteen", place+"/a")
			c, err := f.typed.CoreV1().ConfigMaps(place).Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			uid := f.read(t, ns, "fourteen").GetUID()
			owned := strings.HasSuffix(c.Annotations["test.example.com/owner"], " "+string(uid))
			if by := metav1.GetControllerOf(c); by != nil {
				owned = by.UID == uid
			}
			if seen[c.UID] || !owned {
				t.Errorf("of FooBar %s is the ConfigMap %+v", uid, c)
			}
			seen[c.UID] = true
			f.kubectl(t, nil, "-n", ns, "delete", "foobar", "fourteen", "--timeout=3m")
			if left := f.maps(t, other); left != "" {
				t.Errorf("the FooBar has gone before %s", left)
			}
		}
	}
	f.awaitMaps(t, "", ns, other)
}

// foobarCRDRecreated: the CRD is deleted with all objects, some with a finalizer, and recreated, for a running process and for
// one that starts before it.
func foobarCRDRecreated(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "again"), f.namespace(t, "again-there")
	p := f.start(t)
	f.apply(t, ns, foobar("FooBar", "twelve", "{target: a, targetNamespace: again-there}"))
	f.awaitReady(t, ns, "twelve", other+"/a")
	f.undefine(t, foobarDeploy+"/crd/foobars.yaml")
	f.awaitMaps(t, "", ns, other)
	f.define(t, foobarDeploy+"/crd/foobars.yaml")
	serves := func() {
		await(t, "the FooBar to be taken", func() (bool, string) {
			out, err := f.tryKubectl([]byte(foobar("FooBar", "twelve", "{target: a, targetNamespace: again-there}")), "-n", ns, "apply", "-f", "-")
			return err == nil, out
		})
		f.awaitReady(t, ns, "twelve", other+"/a")
	}
	serves()
	f.beforeItsCRD(t, p, func() *process { return f.start(t) }, foobarDeploy+"/crd", []string{"FooBar", "ClusterFooBar"}, serves)
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "twelve", "--timeout=3m")
}

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/controller/access"
	"stoic/controller/conversion"
	versionsmanifest "stoic/controller/conversion/manifest"
	"stoic/convert/versions"
	crontabversions "stoic/examples/operators/crontab"
	foobarversions "stoic/examples/operators/foobar"
	"stoic/test/operator"
	"stoic/test/served"
	trainingversions "stoic/training/versions"
)

// malformedPerVersion of each kind are stored before its CRD has a schema.
const malformedPerVersion = 60

// servedKind is a kind of several versions, and what is written of it in each.
type servedKind struct {
	versions.Kind
	plural   string
	command  []string // of its webhook
	open     string   // CRD of the stored version that takes anything
	crd      string   // the one that is installed
	others   []crdv1.CustomResourceDefinitionVersion
	specs    map[string]string // by version: a well-formed one
	patch    string            // a merge patch, in the first version that is not the hub
	patched  string            // what the patch makes of the hub's spec: a member of it
	resource func(version string) dynamic.ResourceInterface
}

// TestVersions: objects of several kinds are written, read, listed, watched and patched in all their versions, malformed ones among
// them. Every LIST succeeds while the webhook answers, and when it does again.
func TestVersions(t *testing.T) {
	t.Parallel()
	r := bareRig(t, cluster.Options{Nodes: -1})
	stoic := build(t, ".", raceDetector()...)
	job := func(container string) string {
		return `{"template":{"spec":{"containers":[{"name":"` + container + `","image":"x"}]}}}`
	}
	v2beta1 := served.Version(t, root+"/deploy/mpijob-v2beta1/mpijobs.yaml")
	tf, mpi := `"tfReplicaSpecs":{"Worker":`+job("tensorflow")+`}`, `"mpiReplicaSpecs":{"Launcher":`+job("mpi")+`,"Worker":`+job("mpi")+`}`
	training := []string{stoic, "webhook"}
	for _, k := range []*servedKind{
		{Kind: foobarversions.Versions(), plural: "foobars", command: []string{build(t, "./examples/operators/foobar/cmd", raceDetector()...), "--conversion-only"},
			open: "test/fixtures/foobars-open.yaml", crd: "examples/operators/foobar/deploy/crd/foobars.yaml",
			specs: map[string]string{"v1alpha1": `{"target":"a","type":"Copy"}`, "v1beta1": `{"target":"b","mode":"Link"}`},
			patch: `{"spec":{"mode":"Copy"}}`, patched: `"type":"Copy"`},
		{Kind: crontabversions.Versions(), plural: "crontabs", command: []string{build(t, "./examples/operators/crontab/cmd", raceDetector()...), "--conversion-only"},
			open: "test/fixtures/crontabs-open.yaml", crd: "examples/operators/crontab/deploy/crd/crontabs.yaml",
			specs: map[string]string{"v1": `{"cronSpec":"@hourly","image":"x","replicas":2,"suspend":true}`, "v1beta1": `{"cron":"@daily","image":"y"}`},
			patch: `{"spec":{"cron":"@weekly"}}`, patched: `"cronSpec":"@weekly"`},
		{Kind: trainingversions.TFJob(), plural: "tfjobs", command: training, open: "test/fixtures/tfjobs-open.yaml", crd: "deploy/crd/tfjobs.yaml",
			specs: map[string]string{"v1": `{"runPolicy":{"suspend":true,"cleanPodPolicy":"All"},` + tf + `}`, "v1beta2": `{"backoffLimit":3,` + tf + `}`,
				"v1beta1": `{"cleanPodPolicy":"None",` + tf + `}`, "v1alpha2": `{"ttlSecondsAfterFinished":60,` + tf + `}`},
			patch: `{"spec":{"backoffLimit":5}}`, patched: `"backoffLimit":5`},
		{Kind: trainingversions.MPIJob(), plural: "mpijobs", command: training, open: "test/fixtures/mpijobs-open.yaml", crd: "deploy/crd/mpijobs.yaml",
			others: []crdv1.CustomResourceDefinitionVersion{v2beta1},
			specs:  map[string]string{"v1": `{"cleanPodPolicy":"Running","mainContainer":"mpi",` + mpi + `}`, "v2beta1": `{"mpiImplementation":"Intel","slotsPerWorker":2,` + mpi + `}`},
			patch:  `{"spec":{"slotsPerWorker":4}}`, patched: `"slotsPerWorker":4`},
	} {
		t.Run(k.Name, func(t *testing.T) { k.run(t, r) })
	}
}

func (k *servedKind) run(t *testing.T, r *rig) {
	ns := r.namespace(t, "versions-"+k.plural)
	k.resource = func(version string) dynamic.ResourceInterface {
		return r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: k.Group, Version: version, Resource: k.plural}).Namespace(ns)
	}
	address, err := operator.Address()
	if err != nil {
		t.Fatal(err)
	}
	authority, folder := certificatesFor(t, "127.0.0.1")
	url := "https://" + address + conversion.Path
	webhook := crdv1.WebhookClientConfig{URL: &url, CABundle: authority}
	o := operator.Options{Command: append(slices.Clone(k.command), "--conversion-bind-address", address, "--conversion-cert-path", folder,
		"--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}")}
	p := operator.InTest(t, o)

	open := served.CRD(t, filepath.Join(root, k.open))
	open.Spec.Versions[0].Subresources.Scale = nil // it would look into malformed specs
	var others []crdv1.CustomResourceDefinitionVersion
	for _, v := range k.Versions {
		other := *open.Spec.Versions[0].DeepCopy()
		other.Name, other.AdditionalPrinterColumns = v.Name, nil
		others = append(others, other)
	}
	k.install(t, r, "create", open, webhook, others...)
	written := k.write(t)
	k.readAll(t, written)

	k.install(t, r, "replace", served.CRD(t, filepath.Join(root, k.crd)), webhook, k.others...)
	for _, version := range k.all() {
		await(t, "all objects to be listed as "+version+" under the CRD that has a schema", func() (bool, string) {
			list, err := k.resource(version).List(t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == len(written), fmt.Sprint(err)
		})
	}
	k.edit(t)
	k.fieldManagers(t)
	k.webhookGone(t, p, o, len(written)+1) // fieldManagers makes one
}

// all versions, the hub first.
func (k *servedKind) all() []string {
	all := []string{k.Hub}
	for _, v := range k.Versions {
		all = append(all, v.Name)
	}
	return all
}

func certificatesFor(t *testing.T, host string) (authority []byte, folder string) {
	t.Helper()
	authority, crt, key, err := versionsmanifest.Certificate(time.Now(), time.Hour, host)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for name, text := range map[string][]byte{access.CertFile: crt, access.KeyFile: key} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return authority, folder
}

// install the CRD with all versions.
func (k *servedKind) install(t *testing.T, r *rig, verb string, stored *crdv1.CustomResourceDefinition, webhook crdv1.WebhookClientConfig, others ...crdv1.CustomResourceDefinitionVersion) {
	t.Helper()
	crd, err := versionsmanifest.CRD(stored, k.Kind, webhook, others...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 512<<10 {
		t.Errorf("the CRD has %d bytes", len(text))
	}
	r.kubectl(t, text, verb, "-f", "-")
	for _, version := range k.all() {
		await(t, version+" of "+k.plural+" to be served", func() (bool, string) {
			_, err := k.resource(version).List(t.Context(), metav1.ListOptions{Limit: 1})
			return err == nil, fmt.Sprint(err)
		})
	}
}

// write objects in each version, well-formed and malformed ones. It returns them as they were written, by name.
func (k *servedKind) write(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(len(k.Name))))
	written := map[string]*unstructured.Unstructured{}
	for _, version := range k.all() {
		add := func(name string, spec any) {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.Group + "/" + version, "kind": k.Name, "metadata": map[string]any{"name": name}, "spec": spec}}
			if _, err := k.resource(version).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatalf("create %s of %v: %v", name, spec, err)
			}
			written[name] = u
		}
		var spec map[string]any
		if err := json.Unmarshal([]byte(k.specs[version]), &spec); err != nil {
			t.Fatal(err)
		}
		add("valid-"+version, spec)
		for i := range malformedPerVersion {
			add(fmt.Sprintf("malformed-%s-%d", version, i), k.malformed(random, spec))
		}
	}
	return written
}

// malformed specs: another type in place of all of it, or of some members of it and of those that the tables name.
func (k *servedKind) malformed(random *rand.Rand, spec map[string]any) any {
	values := []any{"text", int64(7), 1.5, true, []any{"x", int64(1)}, map[string]any{"x": "y"}, "", map[string]any{}}
	if random.IntN(8) == 0 {
		return values[random.IntN(len(values))]
	}
	odd := maps.Clone(spec)
	keys := slices.Sorted(maps.Keys(spec))
	for _, v := range k.Versions {
		for _, m := range v.Moves {
			keys = append(keys, strings.Split(m.Here, ".")[1], strings.Split(m.Hub, ".")[1])
		}
		for _, place := range append(v.Only, v.HubOnly...) {
			keys = append(keys, strings.Split(place, ".")[1])
		}
	}
	for range 1 + random.IntN(3) {
		odd[keys[random.IntN(len(keys))]] = values[random.IntN(len(values))]
	}
	return odd
}

// readAll of the objects in each version: one by one and in lists. They are what the tables say.
func (k *servedKind) readAll(t *testing.T, written map[string]*unstructured.Unstructured) {
	t.Helper()
	c, err := k.Converter()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range k.all() {
		list, err := k.resource(version).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != len(written) {
			t.Fatalf("%d of %d objects are listed as %s: %v", len(list.Items), len(written), version, err)
		}
		for _, got := range list.Items {
			want, err := c.Convert(written[got.GetName()].Object, version)
			if err != nil {
				t.Fatal(err)
			}
			k.compare(t, "listed", written[got.GetName()], want.Object, &got, version)
		}
		for _, name := range []string{"valid-" + k.Hub, "valid-" + version, "malformed-" + k.Versions[0].Name + "-0", "malformed-" + version + "-1"} {
			got, err := k.resource(version).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.Convert(written[name].Object, version)
			if err != nil {
				t.Fatal(err)
			}
			k.compare(t, "read", written[name], want.Object, got, version)
		}
	}
}

func (k *servedKind) compare(t *testing.T, how string, written *unstructured.Unstructured, want map[string]any, got *unstructured.Unstructured, version string) {
	t.Helper()
	if got.GetAPIVersion() != k.Group+"/"+version {
		t.Errorf("%s: %s %s as %s", got.GetName(), how, got.GetAPIVersion(), version)
	}
	// Integers that a JSON decoder makes of floats, and the other way, are the same.
	wants, gots := jsonText(t, want["spec"]), jsonText(t, got.Object["spec"])
	if diff := cmp.Diff(wants, gots); diff != "" {
		t.Errorf("%s, written as %s, %s as %s, -want +got:\n%s", got.GetName(), written.GetAPIVersion(), how, version, diff)
	}
}

func jsonText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit an object in a version that is not the hub: by merge and JSON patch. A watch in each version sees it.
func (k *servedKind) edit(t *testing.T) {
	t.Helper()
	old, name := k.Versions[0].Name, "valid-"+k.Versions[0].Name
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	events := map[string]<-chan string{}
	for _, version := range k.all() {
		list, err := k.resource(version).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		w, err := k.resource(version).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		seen := make(chan string, 1)
		events[version] = seen
		go func() {
			e, ok := <-w.ResultChan()
			if u, is := e.Object.(*unstructured.Unstructured); ok && is {
				seen <- string(e.Type) + " " + u.GetAPIVersion()
			} else {
				seen <- fmt.Sprintf("%v %v", ok, e)
			}
		}()
	}
	if _, err := k.resource(old).Patch(ctx, name, types.MergePatchType, []byte(k.patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	hub, err := k.resource(k.Hub).Get(ctx, name, metav1.GetOptions{})
	if err != nil || !strings.Contains(jsonText(t, hub.Object["spec"]), k.patched) {
		t.Errorf("after the patch: %v, %s", err, jsonText(t, hub.Object["spec"]))
	}
	for version, seen := range events {
		if got, want := <-seen, "MODIFIED "+k.Group+"/"+version; got != want {
			t.Errorf("a watch of %s sees %s, want %s", version, got, want)
		}
	}
	jsonPatch := []byte(`[{"op":"add","path":"/metadata/labels","value":{"edited":"yes"}}]`)
	for _, version := range k.all() {
		if _, err := k.resource(version).Patch(ctx, name, types.JSONPatchType, jsonPatch, metav1.PatchOptions{}); err != nil {
			t.Errorf("JSON patch in %s: %v", version, err)
		}
	}
	// What another version has no place for is still there after an edit in it.
	before, err := k.resource(k.Hub).Get(ctx, "valid-"+k.Hub, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range k.Versions {
		if _, err := k.resource(v.Name).Patch(ctx, "valid-"+k.Hub, types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"`+v.Name+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		after, err := k.resource(k.Hub).Get(ctx, "valid-"+k.Hub, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The API server has written the defaults of the other version's schema besides.
		spec, _ := after.Object["spec"].(map[string]any)
		for member, value := range before.Object["spec"].(map[string]any) {
			if diff := cmp.Diff(jsonText(t, value), jsonText(t, spec[member])); diff != "" {
				t.Errorf("an edit of labels in %s: -before +after of spec.%s:\n%s", v.Name, member, diff)
			}
		}
		if after.GetLabels()["by"] != v.Name {
			t.Errorf("an edit of labels in %s: labels %v", v.Name, after.GetLabels())
		}
	}
}

// fieldManagers apply the same object in all versions; each keeps its fields.
func (k *servedKind) fieldManagers(t *testing.T) {
	t.Helper()
	for _, version := range k.all() {
		var spec map[string]any
		if err := json.Unmarshal([]byte(k.specs[version]), &spec); err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.Group + "/" + version, "kind": k.Name, "metadata": map[string]any{"name": "applied", "labels": map[string]any{version: "x"}}, "spec": spec}}
		if _, err := k.resource(version).Apply(t.Context(), "applied", u, metav1.ApplyOptions{FieldManager: version, Force: true}); err != nil {
			t.Errorf("apply as %s: %v", version, err)
		}
	}
	got, err := k.resource(k.Hub).Get(t.Context(), "applied", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var managers []string
	for _, m := range got.GetManagedFields() {
		managers = append(managers, m.Manager+" "+m.APIVersion)
	}
	for _, version := range k.all() {
		if got.GetLabels()[version] != "x" || !slices.Contains(managers, version+" "+k.Group+"/"+version) {
			t.Errorf("labels %v, managers %q", got.GetLabels(), managers)
		}
	}
}

// webhookGone: the stored version can be read and written without it, others cannot; when it is back everything can.
func (k *servedKind) webhookGone(t *testing.T, p *operator.Process, o operator.Options, objects int) {
	t.Helper()
	old := k.Versions[0].Name
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.resource(old).Get(t.Context(), "valid-"+k.Hub, metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), "conversion webhook for ") {
		t.Errorf("%s without a webhook: %v", old, err)
	}
	list, err := k.resource(k.Hub).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != objects {
		t.Errorf("%d of %d objects are listed as %s, as which they are stored: %v", len(list.Items), objects, k.Hub, err)
	}
	operator.InTest(t, o)
	for _, version := range k.all() {
		await(t, "all objects to be listed as "+version+" with a webhook again", func() (bool, string) {
			list, err := k.resource(version).List(t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == objects, fmt.Sprint(err)
		})
	}
}

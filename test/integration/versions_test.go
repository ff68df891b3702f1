package integration

import (
	"context"
	"fmt"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	versionsmanifest "stoic/controller/conversion/manifest"
	"stoic/convert/versions"
	"stoic/test/operator"
	"stoic/test/served"
	trainingversions "stoic/training/versions"
)

// malformedPerVersion returns how many of each kind are stored before its CRD has a schema: 1,000 of ten versions in the large run.
func malformedPerVersion() int { return sized(25, 100) }

// servedKind is a kind with several versions, and what is written in each.
type servedKind struct {
	versions.Kind
	plural   string
	command  []string // of its webhook
	open     string   // CRD of the stored version that accepts anything
	crd      string   // the one that is installed
	others   []crdv1.CustomResourceDefinitionVersion
	specs    map[string]string // by version: a well-formed spec
	patch    string            // a merge patch, in the first version that is not the hub
	patched  string            // the result of the patch: a member of the hub's spec
	resource func(version string) dynamic.ResourceInterface

	namespace string
	webhook   *served.Webhook
	process   *operator.Process // of the webhook
	objects   int               // in the namespace
}

// TestVersions: objects of several kinds are written, read, listed, watched and patched in all their versions, including
// malformed ones. Every LIST succeeds while the webhook answers, and when it answers again.
func TestVersions(t *testing.T) {
	full(t)
	t.Parallel()
	r := bareRig(t, cluster.Options{Nodes: -1})
	stoic := build(t, "./cmd/stoic", raceDetector()...)
	job := func(container string) string {
		return `{"template":{"spec":{"containers":[{"name":"` + container + `","image":"x"}]}}}`
	}
	v2beta1 := served.Version(t, root+"/deploy/mpijob-v2beta1/mpijobs.yaml")
	tf, mpi := `"tfReplicaSpecs":{"Worker":`+job("tensorflow")+`}`, `"mpiReplicaSpecs":{"Launcher":`+job("mpi")+`,"Worker":`+job("mpi")+`}`
	training := []string{stoic, "webhook"}
	all := []*servedKind{
		{Kind: trainingversions.TFJob(), plural: "tfjobs", command: training, open: "test/fixtures/tfjobs-open.yaml", crd: "deploy/crd/tfjobs.yaml",
			specs: map[string]string{"v1": `{"runPolicy":{"suspend":true,"cleanPodPolicy":"All"},` + tf + `}`, "v1beta2": `{"backoffLimit":3,` + tf + `}`,
				"v1beta1": `{"cleanPodPolicy":"None",` + tf + `}`, "v1alpha2": `{"ttlSecondsAfterFinished":60,` + tf + `}`},
			patch: `{"spec":{"backoffLimit":5}}`, patched: `"backoffLimit":5`},
		{Kind: trainingversions.MPIJob(), plural: "mpijobs", command: training, open: "test/fixtures/mpijobs-open.yaml", crd: "deploy/crd/mpijobs.yaml",
			others: []crdv1.CustomResourceDefinitionVersion{v2beta1},
			specs:  map[string]string{"v1": `{"cleanPodPolicy":"Running","mainContainer":"mpi",` + mpi + `}`, "v2beta1": `{"mpiImplementation":"Intel","slotsPerWorker":2,` + mpi + `}`},
			patch:  `{"spec":{"slotsPerWorker":4}}`, patched: `"slotsPerWorker":4`},
	}
	for _, k := range all {
		t.Run(k.Name, func(within *testing.T) { k.run(within, t, r) })
	}
	t.Run("a webhook fails", func(within *testing.T) { all[len(all)-1].webhookFails(within, t, r, all[:len(all)-1]) })
}

// serve serves the kind's versions in a namespace: its webhook runs until the whole test ends.
func (k *servedKind) serve(t, whole *testing.T, r *rig, ns string) crdv1.WebhookClientConfig {
	t.Helper()
	k.namespace = ns
	k.resource = func(version string) dynamic.ResourceInterface { return k.in(r, version).Namespace(k.namespace) }
	var err error
	if k.webhook, err = served.NewWebhook(whole.TempDir(), k.command...); err != nil {
		t.Fatal(err)
	}
	authority := k.certify(t, time.Now())
	k.process = operator.InTest(whole, k.webhook.Options)
	return k.webhook.Client(authority)
}

// run runs the tests of every kind.
func (k *servedKind) run(t, whole *testing.T, r *rig) {
	webhook := k.serve(t, whole, r, r.namespace(t, "versions-"+k.plural))
	open := served.CRD(t, filepath.Join(root, k.open))
	open.Spec.Versions[0].Subresources = nil // a status is stored as it is sent, and scale does not read malformed specs
	var others []crdv1.CustomResourceDefinitionVersion
	for _, v := range k.Versions {
		other := *open.Spec.Versions[0].DeepCopy()
		other.Name, other.AdditionalPrinterColumns = v.Name, nil
		others = append(others, other)
	}
	k.install(t, r, "create", open, webhook, others...)
	shipped, err := versionsmanifest.CRD(served.CRD(t, filepath.Join(root, k.crd)), k.Kind, webhook, k.others...)
	if err != nil {
		t.Fatal(err)
	}
	written := k.write(t, shipped)
	k.readAll(t, written)

	k.install(t, r, "replace", served.CRD(t, filepath.Join(root, k.crd)), webhook, k.others...)
	k.objects = len(written)
	k.listed(t, "under the CRD that has a schema")
	k.edit(t)
	k.fieldManagers(t)
	k.objects++ // fieldManagers makes one
}

func (k *servedKind) in(r *rig, version string) dynamic.NamespaceableResourceInterface {
	return r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: k.Group, Version: version, Resource: k.plural})
}

// listed: every LIST in every version succeeds, and has all objects.
func (k *servedKind) listed(t *testing.T, when string) {
	t.Helper()
	for _, version := range k.all() {
		await(t, "all objects to be listed as "+version+" "+when, func() (bool, string) {
			list, err := k.resource(version).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			return len(list.Items) == k.objects, fmt.Sprintf("%d of %d", len(list.Items), k.objects)
		})
	}
}

// all returns all versions, the hub first.
func (k *servedKind) all() []string {
	all := []string{k.Hub}
	for _, v := range k.Versions {
		all = append(all, v.Name)
	}
	return all
}

// certify issues the webhook a certificate for an hour from a time on. It returns the authority that has signed it.
func (k *servedKind) certify(t *testing.T, from time.Time) (authority []byte) {
	t.Helper()
	authority, err := k.webhook.Certify(from, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// install installs the CRD with all versions.
func (k *servedKind) install(t *testing.T, r *rig, verb string, stored *crdv1.CustomResourceDefinition, webhook crdv1.WebhookClientConfig, others ...crdv1.CustomResourceDefinitionVersion) {
	t.Helper()
	crd, err := versionsmanifest.CRD(stored, k.Kind, webhook, others...)
	if err != nil {
		t.Fatal(err)
	}
	k.put(t, r, verb, crd)
}

// put writes a CRD with all versions, and waits until they are served.
func (k *servedKind) put(t *testing.T, r *rig, verb string, crd *crdv1.CustomResourceDefinition) {
	t.Helper()
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

// edit edits an object in a version that is not the hub, and watches it in another. What another version cannot represent is kept
// after an edit in it.
func (k *servedKind) edit(t *testing.T) {
	t.Helper()
	old := k.Versions[0].Name
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	list, err := k.resource(old).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, err := k.resource(old).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=valid-" + old, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := k.resource(old).Patch(ctx, "valid-"+old, types.MergePatchType, []byte(k.patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	hub, err := k.resource(k.Hub).Get(ctx, "valid-"+old, metav1.GetOptions{})
	if err != nil || !strings.Contains(jsonText(t, hub.Object["spec"]), k.patched) {
		t.Errorf("after the patch: %v, %s", err, jsonText(t, hub.Object["spec"]))
	}
	e, isOpen := <-w.ResultChan()
	if u, isObject := e.Object.(*unstructured.Unstructured); !isOpen || !isObject || e.Type != watch.Modified || u.GetAPIVersion() != k.Group+"/"+old {
		t.Errorf("a watch of %s sees %v", old, e)
	}
	before, err := k.resource(k.Hub).Get(ctx, "valid-"+k.Hub, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range k.Versions {
		patch := []byte(`[{"op":"add","path":"/metadata/labels","value":{"by":"` + v.Name + `"}}]`)
		if _, err := k.resource(v.Name).Patch(ctx, "valid-"+k.Hub, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
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
		u := k.object(map[string]any{"metadata": map[string]any{"labels": map[string]any{version: "x"}}, "spec": k.spec(t, version)}, version, "applied")
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

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/operator"
	"stoic/test/served"
)

const (
	// disruptionLimit is how long the operator may take after a repair, on a machine that has other work.
	disruptionLimit = 3 * time.Minute
	shapes          = "shapes" // the namespace
)

var (
	pyTorchJobs = schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "pytorchjobs"}
	podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

func (g *ground) jobs() dynamic.ResourceInterface {
	return g.client.Resource(pyTorchJobs).Namespace(shapes)
}

// submit creates jobs of one worker each. Not every handler serves a kind that has just been established: it retries after 404.
func (g *ground) submit(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "pytorch", "image": "training:1"}}}}
		job := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"replicas": int64(1), "template": template}}},
		}}
		operator.Await(t, disruptionLimit, name+" to be taken", func() (bool, string) {
			_, err := g.jobs().Create(t.Context(), job, metav1.CreateOptions{})
			return err == nil || apierrors.IsAlreadyExists(err), fmt.Sprint(err)
		})
	}
}

// awaitSound waits until these jobs run, no other exists, each has one pod, and no pod is left over.
func (g *ground) awaitSound(t *testing.T, names ...string) {
	t.Helper()
	operator.Await(t, disruptionLimit, fmt.Sprintf("the jobs %v to run, with a pod each", names), func() (bool, string) {
		jobs, err := g.jobs().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		pods, err := g.client.Resource(podResource).Namespace(shapes).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		owners := map[types.UID]int{}
		for i := range pods.Items {
			owners[history.Owner(&pods.Items[i])]++
		}
		saw := fmt.Sprintf("%d jobs, %d pods", len(jobs.Items), len(pods.Items))
		for i := range jobs.Items {
			job := &jobs.Items[i]
			if history.State(job).Type != "Running" || owners[job.GetUID()] != 1 {
				return false, fmt.Sprintf("%s; %s is %q and has %d pods", saw, job.GetName(), history.State(job).Type, owners[job.GetUID()])
			}
		}
		return len(jobs.Items) == len(names) && len(pods.Items) == len(names), saw
	})
}

// TestDefinitionsComeAndGo: the CRD of a kind is deleted with its objects and comes back, several times, the last time without a
// status subresource, which is added later. The operator serves the kind whenever it can be served, tells the users when it cannot
// record anything, leaks nothing, and jobs of another kind are not affected.
func TestDefinitionsComeAndGo(t *testing.T) {
	operator.Full(t)
	t.Parallel()
	g := newGround(t, cluster.Options{}, "deploy/crd")
	g.kubectl(t, "create", "namespace", shapes)
	process := operator.InTest(t, g.training(t))
	canary := g.startCanary(t)
	names := []string{"a", "b", "c"}
	g.submit(t, names...)
	g.awaitSound(t, names...)
	before, _, err := process.Sample(t.Context(), "go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		g.recreateDefinition(t, true)
		g.submit(t, names...)
	}
	g.awaitSound(t, names...)
	operator.Await(t, disruptionLimit, "as many goroutines as before", func() (bool, string) {
		now, _, err := process.Sample(t.Context(), "go_goroutines")
		return err == nil && now <= before+10, fmt.Sprintf("%v, had %v (%v)", now, before, err) // connections open and close
	})

	g.recreateDefinition(t, false)
	g.submit(t, "mute")
	events := g.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(shapes)
	operator.Await(t, disruptionLimit, "an event that says that there is no status subresource", func() (bool, string) {
		list, err := events.List(t.Context(), metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.name=mute"})
		return err == nil && len(list.Items) > 0, fmt.Sprint(err)
	})
	pods, err := g.client.Resource(podResource).Namespace(shapes).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].GetName(), "mute-") {
			t.Error("nothing can be recorded, and a pod is made")
		}
	}
	definitions := operator.Definitions(t, g.cluster)
	operator.Await(t, disruptionLimit, "the CRD to be changed", func() (bool, string) {
		crd, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
		if err == nil {
			setStatusSubresource(crd, true)
			_, err = definitions.Update(t.Context(), crd, metav1.UpdateOptions{}) // the API server writes to it, too
		}
		return err == nil, fmt.Sprint(err)
	})
	g.awaitSound(t, "mute")
	canary.end(t)
}

const definition = "pytorchjobs.kubeflow.org"

// recreateDefinition deletes the CRD with all its objects and creates it again.
func (g *ground) recreateDefinition(t *testing.T, hasStatus bool) {
	t.Helper()
	definitions := operator.Definitions(t, g.cluster)
	if err := definitions.Delete(t.Context(), definition, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	operator.Await(t, disruptionLimit, "the CRD to be gone", func() (bool, string) {
		_, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	object, err := served.Definition(filepath.Join(root, "deploy/crd/pytorchjobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{Object: object}
	setStatusSubresource(crd, hasStatus)
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	operator.Await(t, disruptionLimit, "the CRD to be established", func() (bool, string) {
		now, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
		return err == nil && history.Is(now, "Established"), fmt.Sprint(err)
	})
}

// setStatusSubresource gives all versions of a CRD a status subresource and no other, or none.
func setStatusSubresource(crd *unstructured.Unstructured, hasStatus bool) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		delete(version, "subresources")
		if hasStatus {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
	}
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions") // spec is a map
}

// TestRestoredStore: the store is restored to its state before a thousand revisions, under an operator that is not told. It brings
// every job of that state to its end again, and leaves no pod of the time that was undone.
func TestRestoredStore(t *testing.T) {
	operator.Full(t)
	t.Parallel()
	if strings.Contains(operator.Store(), "://") {
		t.Skip("the store is a database, which is saved and restored with its own tools")
	}
	g := newGround(t, cluster.Options{}, "deploy/crd")
	g.kubectl(t, "create", "namespace", shapes)
	operator.InTest(t, g.training(t))
	g.submit(t, "kept", "deleted", "edited")
	g.awaitSound(t, "kept", "deleted", "edited")
	if err := g.cluster.Save(); err != nil {
		t.Fatal(err)
	}
	if err := g.jobs().Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := g.client.Resource(podResource).Namespace(shapes).Delete(t.Context(), "edited-worker-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.submit(t, "undone")
	g.awaitSound(t, "kept", "edited", "undone")
	maps := g.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(shapes)
	burnt := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "burnt"}}}
	if _, err := maps.Create(t.Context(), burnt, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		if _, err := maps.Patch(t.Context(), "burnt", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.cluster.Restore(); err != nil {
		t.Fatal(err)
	}
	g.submit(t, "new")
	operator.Await(t, disruptionLimit, "a pod to be deleted", func() (bool, string) {
		err := g.client.Resource(podResource).Namespace(shapes).Delete(t.Context(), "kept-worker-0", metav1.DeleteOptions{})
		return err == nil || apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	g.awaitSound(t, "kept", "deleted", "edited", "new")
}

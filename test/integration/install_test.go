package integration

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/examples"
	"stoic/training"
	"stoic/training/kinds"
)

// TestInstall follows deploy/README.md, in a cluster without anything of ours.
func TestInstall(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{})
	crds, all := filepath.Join(root, "deploy/crd"), filepath.Join(root, "deploy")
	for _, step := range []struct{ says, args string }{
		{" created (server dry run)\n", "--dry-run=server"},
		{" created\n", ""},
		{" unchanged\n", ""},
	} {
		args, says := append([]string{"apply", "-f", crds}, strings.Fields(step.args)...), ""
		for _, kind := range kinds.All() {
			says += crdOf(kind) + step.says
		}
		if out := r.kubectl(t, nil, args...); out != says {
			t.Errorf("kubectl %s says %q, want %q", strings.Join(args, " "), out, says)
		}
	}
	for _, kind := range kinds.All() {
		r.awaitEstablished(t, kind)
		// All annotations of an object together may have 262144 bytes.
		applied := r.kubectl(t, nil, "get", crdOf(kind), "-o", `jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}`)
		if len(applied) < 10000 || len(applied) >= 262144-1024 {
			t.Errorf("%s: the annotation of kubectl apply has %d bytes", kind.Name, len(applied))
		}
	}

	r.kubectl(t, nil, "create", "namespace", "kubeflow")
	objects := strings.Count("\n"+r.kubectl(t, nil, "kustomize", all), "\napiVersion: ")
	checkEach(t, "a dry run", r.kubectl(t, nil, "apply", "-k", all, "--dry-run=server"), "(server dry run)", objects)
	r.kubectl(t, nil, "apply", "-k", all)
	checkEach(t, "a second apply", r.kubectl(t, nil, "apply", "-k", all), " unchanged", objects)

	t.Run("examples", func(t *testing.T) { examplesAccepted(t, r) })
	t.Run("names", func(t *testing.T) {
		r.apply(t, "default", manifest("named", worker("", "")))
		for _, name := range []string{"tfj", "tfjob", "tfjobs", "tfjobs.v1.kubeflow.org"} {
			if out := r.kubectl(t, nil, "get", name, "-o", "name"); out != "tfjob.kubeflow.org/named\n" {
				t.Errorf("kubectl get %s says %q", name, out)
			}
		}
		for _, name := range []string{"jxj", "pdj", "xgj"} { // short names of kinds without objects
			if out := r.kubectl(t, nil, "get", name, "-o", "name"); out != "" {
				t.Errorf("kubectl get %s says %q", name, out)
			}
		}
		if out := r.kubectl(t, nil, "get", "training", "-o", "name"); out != "tfjob.kubeflow.org/named\n" {
			t.Errorf("kubectl get training says %q", out)
		}
		if out := r.kubectl(t, nil, "get", "tfj"); !regexp.MustCompile(`^NAME +STATE +AGE\nnamed +\S+\n$`).MatchString(out) {
			t.Errorf("kubectl get tfj prints\n%s", out)
		}
	})
}

func crdOf(kind *training.Kind) string {
	return "customresourcedefinition.apiextensions.k8s.io/" + definitionOf(kind)
}

// checkEach checks that each line ends as expected, and that there is one for each object.
func checkEach(t *testing.T, what, out, end string, objects int) {
	t.Helper()
	count := 0
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Warning: ") {
			// This line names the object that an administrator had created before without apply: the namespace, here.
			if !strings.Contains(line, "namespaces/kubeflow") {
				t.Errorf("%s warns: %s", what, line)
			}
			continue
		}
		if count++; !strings.HasSuffix(line, end) {
			t.Errorf("%s says: %s", what, line)
		}
	}
	if count != objects || count == 0 {
		t.Errorf("%s speaks of %d objects, want %d:\n%s", what, count, objects, out)
	}
}

// examplesAccepted: the CRD accepts the valid examples.
func examplesAccepted(t *testing.T, r *rig) {
	paths, err := fs.Glob(examples.Files(), "*.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("right examples: %v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := fs.ReadFile(examples.Files(), path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("apiVersion: kubeflow.org/v2beta1")) { // its CRD replaces one that is here: TestMPIJobV2Beta1
			continue
		}
		if out, err := r.tryKubectl(text, "apply", "--dry-run=server", "-f", "-"); err != nil || !strings.Contains(out, "created (server dry run)") {
			t.Errorf("%s: %s, %v", path, out, err)
		}
	}
}

package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"stoic/test/operator"
)

var update = flag.Bool("update", false, "write the golden files anew")

// kustomize renders a folder. It skips the test if there is no kubectl.
func kustomize(t *testing.T, dir string) []document {
	t.Helper()
	out, stderr, err := render(t, dir)
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v\n%s", dir, err, stderr)
	}
	if len(stderr) > 0 {
		t.Errorf("kubectl kustomize %s warns: %s", dir, stderr)
	}
	return split(t, "kubectl kustomize "+dir, out)
}

// render runs kubectl kustomize, and returns what it prints and warns.
func render(t *testing.T, dir string) (out, stderr []byte, err error) {
	t.Helper()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not on PATH")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var warnings bytes.Buffer
	command := exec.Command(kubectl, "kustomize", dir)
	command.Stderr = &warnings
	out, err = command.Output()
	return out, warnings.Bytes(), err
}

// objects returns the rendered documents by id.
func objects(t *testing.T, all []document) map[string]any {
	t.Helper()
	found := map[string]any{}
	for _, d := range all {
		if _, twice := found[d.id()]; twice {
			t.Errorf("%s is rendered twice", d.id())
		}
		var value any
		if err := yaml.Unmarshal(d.raw, &value); err != nil {
			t.Fatalf("parse %s: %v", d.id(), err)
		}
		found[d.id()] = value
	}
	return found
}

// checkout returns a copy of the folders that kustomize reads. Its CRDs have no schemas: with them each rendering takes some seconds.
// TestKustomize renders the complete CRDs.
func checkout(t *testing.T) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"../deploy", "../manifests"} {
		err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".json"}, filepath.Ext(path)) && entry.Name() != "Kustomization" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if filepath.Dir(path) == "../deploy/crd" && filepath.Ext(path) == ".yaml" {
				head, _, _ := bytes.Cut(text, []byte("\nspec:"))
				text = append(head, "\nspec: {}\n"...)
			}
			to := filepath.Join(root, strings.TrimPrefix(path, "../"))
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o600)
		})
		if err != nil {
			t.Fatalf("copy %s: %v", from, err)
		}
	}
	return root
}

// changes lists the differences between two sets of objects: objects that are removed or added, and single values.
func changes(t *testing.T, from, to map[string]any) string {
	t.Helper()
	var out strings.Builder
	for _, id := range slices.Sorted(maps.Keys(from)) {
		if _, stays := to[id]; !stays {
			fmt.Fprintf(&out, "removed %s\n", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(to)) {
		before, was := from[id]
		if was {
			changed(&out, id, before, to[id])
			continue
		}
		text, err := yaml.Marshal(to[id])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "added %s\n", id)
		if bytes.Count(text, []byte("\n")) > 100 { // rules and dashboards
			continue
		}
		for line := range strings.Lines(string(text)) {
			out.WriteString("  " + line)
		}
	}
	return out.String()
}

// changed writes a line for each value that differs.
func changed(out *strings.Builder, path string, from, to any) {
	fromMap, isMap := from.(map[string]any)
	toMap, stays := to.(map[string]any)
	if isMap && stays {
		keys := maps.Clone(fromMap)
		maps.Copy(keys, toMap)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			changed(out, path+"."+key, fromMap[key], toMap[key])
		}
		return
	}
	fromList, isList := from.([]any)
	toList, stays := to.([]any)
	if isList && stays {
		for i := range max(len(fromList), len(toList)) {
			changed(out, fmt.Sprintf("%s[%d]", path, i), at(fromList, i), at(toList, i))
		}
		return
	}
	if !cmp.Equal(from, to) {
		before, _ := json.Marshal(from)
		after, _ := json.Marshal(to)
		fmt.Fprintf(out, "changed %s: %s -> %s\n", path, before, after)
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// TestOverlays: the golden file lists all differences of an overlay from kubectl apply -k deploy. It has a section for each folder of
// overlays, and one that combines components.
func TestOverlays(t *testing.T) {
	root := checkout(t)
	base := objects(t, kustomize(t, root+"/deploy"))
	const file = "testdata/overlays.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	dirs, err := filepath.Glob("overlays/*")
	if err != nil || len(dirs) != 6 {
		t.Fatalf("overlays: %v, %v", dirs, err)
	}
	written := &txtar.Archive{Comment: archive.Comment}
	for _, name := range append(dirs, "overlays/ha with components/pod-monitor and components/operator-alone", "overlays/cert-manager with components/service-monitor and components/service-monitor-secure",
		"overlays/monitoring with metrics-secure and components/certificate and components/service-monitor-secure") {
		from, with, more := strings.Cut(name, " with ")
		dir := filepath.Join(root, "deploy", from)
		if more {
			dir = overlay(t, root, "resources: [$/"+from+"]\ncomponents: [$/"+strings.ReplaceAll(with, " and ", ", $/")+"]\n")
		}
		got := changes(t, base, objects(t, kustomize(t, dir)))
		if diff := cmp.Diff(want[name], got); diff != "" && !*update {
			t.Errorf("what %s changes (-want +got):\n%s", name, diff)
		}
		written.Files = append(written.Files, txtar.File{Name: name, Data: []byte(got)})
	}
	if len(want) != len(written.Files) && !*update {
		t.Errorf("%s has %d sections, want %d", file, len(want), len(written.Files))
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// overlay writes a kustomization beside a checkout; $ in its text means the folder deploy there.
func overlay(t *testing.T, root, text string) (dir string) {
	t.Helper()
	return operator.Overlay(t, filepath.Join(root, "deploy"), text)
}

// TestPathsOfTrainingOperator: the paths that users of training-operator know render the overlays of the same name.
func TestPathsOfTrainingOperator(t *testing.T) {
	root := checkout(t)
	for _, name := range []string{"standalone", "kubeflow"} {
		there, here := objects(t, kustomize(t, root+"/manifests/overlays/"+name)), objects(t, kustomize(t, root+"/deploy/overlays/"+name))
		if diff := cmp.Diff(here, there); diff != "" {
			t.Errorf("manifests/overlays/%s (-deploy/overlays +manifests/overlays):\n%s", name, diff)
		}
	}
}

// TestFoldersListTheirFiles: the kustomization of a folder installs every file in it. It is no file that kubectl apply -f DIR reads.
func TestFoldersListTheirFiles(t *testing.T) {
	for _, dir := range []string{"crd", "rbac", "controller"} {
		text, err := os.ReadFile(filepath.Join(dir, "Kustomization"))
		if err != nil {
			t.Fatal(err)
		}
		var listed struct{ Resources []string }
		if err := yaml.Unmarshal(text, &listed); err != nil {
			t.Fatalf("parse %s/Kustomization: %v", dir, err)
		}
		files, err := filepath.Glob(dir + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if wrong, err := filepath.Glob(dir + "/kustomization.y*ml"); err != nil || len(wrong) > 0 {
			t.Errorf("%v would upset kubectl apply -f deploy/%s", wrong, dir)
		}
		slices.Sort(listed.Resources)
		if diff := cmp.Diff(files, listed.Resources); diff != "" {
			t.Errorf("%s (-files +listed):\n%s", dir, diff)
		}
	}
	a, err := os.ReadFile("namespace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("components/namespace/namespace.yaml")
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("components/namespace/namespace.yaml is not namespace.yaml: %v", err)
	}
}

// TestOverlayOfAnOverlay: the namespace and the image are replaced everywhere.
func TestOverlayOfAnOverlay(t *testing.T) {
	text := "resources: [$/overlays/ha]\ncomponents: [$/components/service-monitor]\nnamespace: team-a\nimages: [{name: stoic, newName: example.org/stoic, newTag: v1}]\n"
	all := kustomize(t, overlay(t, checkout(t), text))
	if image := into[appsv1.Deployment](t, all, "team-a/Deployment/training-operator").Spec.Template.Spec.Containers[0].Image; image != "example.org/stoic:v1" {
		t.Errorf("image %q", image)
	}
	for _, d := range all {
		text := string(d.raw)
		if strings.Contains(text, "namespace: kubeflow") || strings.Contains(text, "name: kubeflow\n") {
			t.Errorf("%s has the namespace kubeflow:\n%s", d.id(), text)
		}
		if strings.HasSuffix(d.head.Kind, "RoleBinding") && strings.Count(text, "namespace: team-a") != 1+strings.Count(d.id(), "team-a/") {
			t.Errorf("%s does not bind the service account of team-a:\n%s", d.id(), text)
		}
	}
}

// TestSecureMonitorNeedsOne: without a ServiceMonitor to change kustomize fails, rather than leaving Prometheus without one.
func TestSecureMonitorNeedsOne(t *testing.T) {
	dir := overlay(t, checkout(t), "resources: [$/overlays/cert-manager]\ncomponents: [$/components/service-monitor-secure]\n")
	if out, _, err := render(t, dir); err == nil {
		t.Errorf("it renders:\n%s", out)
	}
}

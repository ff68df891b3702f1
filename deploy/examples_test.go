package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
)

const (
	exampleFolders = "../examples/operators"
	mostOfLine     = 240 // in the golden file
)

// installations returns the folders of kustomizations that install the example operators by themselves.
func installations(t *testing.T) (dirs []string) {
	t.Helper()
	for _, pattern := range []string{"/*/deploy", "/*/deploy/together", "/*/deploy/apart"} {
		found, err := filepath.Glob(exampleFolders + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		dirs = append(dirs, found...)
	}
	return dirs
}

// outline lists the objects, and what containers run.
func outline(t *testing.T, all []document) string {
	t.Helper()
	var out strings.Builder
	for _, id := range ids(all) {
		fmt.Fprintln(&out, id)
		if !strings.Contains(id, "/Deployment/") {
			continue
		}
		for _, c := range into[appsv1.Deployment](t, all, id).Spec.Template.Spec.Containers {
			fmt.Fprintln(&out, "  runs", c.Image, strings.Join(c.Args, " "))
		}
	}
	return out.String()
}

// TestExamplesAreInstalled: what kubectl apply -k installs of the example operators matches the golden file, and so does what a component
// changes.
func TestExamplesAreInstalled(t *testing.T) {
	const file = "testdata/examples.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written := &txtar.Archive{Comment: archive.Comment}
	section := func(dir, text string) {
		written.Files = append(written.Files, txtar.File{Name: strings.TrimPrefix(dir, "../"), Data: []byte(text)})
	}
	rendered := map[string][]document{}
	for _, dir := range installations(t) {
		rendered[dir] = kustomize(t, dir)
		objects(t, rendered[dir]) // none is there twice
		section(dir, outline(t, rendered[dir]))
	}
	components, err := filepath.Glob(exampleFolders + "/*/deploy/versions")
	if err != nil || len(components) == 0 {
		t.Fatal(components, err)
	}
	for _, dir := range components {
		base := filepath.Dir(dir)
		with := kustomize(t, overlay(t, "..", "resources: [$/"+base+"]\ncomponents: [$/"+dir+"]\n"))
		text := ""
		for line := range strings.Lines(changes(t, objects(t, rendered[base]), objects(t, with))) {
			if len(line) > mostOfLine { // the schema of a version, which other tests hold
				line = line[:mostOfLine] + "...\n"
			}
			text += line
		}
		section(dir, text)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(written))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// sbomIsRight: the SPDX library can read the document. It lists the modules of the compiled packages, as the go command does; the modules
// in it are read from the program.
func sbomIsRight(t *testing.T, a *artifact) {
	folder := t.TempDir()
	if err := a.writeSBOMs(folder, testFacts()); err != nil {
		t.Fatal(err)
	}
	for i, p := range a.platforms {
		text, err := os.ReadFile(filepath.Join(folder, sbomFile(p)))
		if err != nil {
			t.Fatal(err)
		}
		var d v2_3.Document
		if err := spdxjson.ReadInto(bytes.NewReader(text), &d); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if digest := digestOf(t, a.images[i]); !strings.HasSuffix(d.DocumentNamespace, digest.Hex) || d.SPDXVersion != "SPDX-2.3" {
			t.Errorf("%s: namespace %s of %s, want the digest %s", p, d.DocumentNamespace, d.SPDXVersion, digest)
		}
		if diff := cmp.Diff(listedModules(t, p), modulesIn(&d)); diff != "" {
			t.Errorf("%s: modules (-compiled +in the document):\n%s", p, diff)
		}
		sum := sha256.Sum256(filesOf(t, a.images[i])[program].body)
		if len(d.Files) != 1 || d.Files[0].Checksums[1].Value != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: files %+v", p, d.Files)
		}
		related(t, &d)
	}
}

func modulesIn(d *v2_3.Document) (found []string) {
	for _, c := range d.Packages {
		if strings.HasPrefix(string(c.PackageSPDXIdentifier), "Module-") {
			found = append(found, c.PackageName+" "+c.PackageVersion+" "+strings.TrimPrefix(c.PackageComment, "go.sum "))
			if want := "pkg:golang/" + c.PackageName + "@" + strings.ReplaceAll(c.PackageVersion, "+", "%2B"); c.PackageExternalReferences[0].Locator != want {
				found = append(found, "not "+want+": "+c.PackageExternalReferences[0].Locator)
			}
		}
	}
	slices.Sort(found)
	return found
}

// listedModules returns those of the packages that the go command compiles for a platform, with their sums.
func listedModules(t *testing.T, p v1.Platform) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Sum}}{{end}}{{end}}", ".")
	cmd.Dir, cmd.Env = repository, environment(p)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		found = append(found, strings.TrimSpace(line))
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) < 30 {
		t.Fatalf("the go command lists %d modules", len(found))
	}
	return found
}

// related checks that what a relationship names exists, and that each element is in a relationship.
func related(t *testing.T, d *v2_3.Document) {
	t.Helper()
	named := map[string]bool{"DOCUMENT": false}
	for _, c := range d.Packages {
		named[string(c.PackageSPDXIdentifier)] = false
	}
	for _, f := range d.Files {
		named[string(f.FileSPDXIdentifier)] = false
	}
	for _, r := range d.Relationships {
		for _, id := range []string{string(r.RefA.ElementRefID), string(r.RefB.ElementRefID)} {
			if _, there := named[id]; !there {
				t.Errorf("%s %s %s names what is not there", r.RefA.ElementRefID, r.Relationship, r.RefB.ElementRefID)
			}
			named[id] = true
		}
	}
	for id, is := range named {
		if !is {
			t.Errorf("%s is related to nothing", id)
		}
	}
}

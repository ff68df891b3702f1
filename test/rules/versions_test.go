package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSupportedVersions: docs/supported-versions.md names each release of Kubernetes that the local control plane can be
// compiled of, with the file that says so, and that of the client libraries. Makefile and workflows know it, too.
func TestSupportedVersions(t *testing.T) {
	page, makefile, nightly := read(t, "docs/supported-versions.md"), read(t, "Makefile"), read(t, ".github/workflows/nightly.yaml")
	files, err := filepath.Glob("../../localcluster/*.mod")
	if err != nil || len(files) < 2 {
		t.Fatalf("releases of Kubernetes: %v, %v", files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		version := regexp.MustCompile(`k8s\.io/kubernetes v(\S+)`).FindStringSubmatch(read(t, "localcluster/"+name))
		if version == nil {
			t.Errorf("%s requires no k8s.io/kubernetes", name)
			continue
		}
		if row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(version[1]) + ` \|.*` + "`localcluster/" + regexp.QuoteMeta(name) + "`" + ` \|$`); !row.MatchString(page) {
			t.Errorf("the page has no row of %s with localcluster/%s", version[1], name)
		}
		release, other := strings.CutPrefix(strings.TrimSuffix(name, ".mod"), "kubernetes-")
		if !other {
			continue
		}
		if !strings.HasPrefix(version[1], release+".") {
			t.Errorf("%s requires Kubernetes %s", name, version[1])
		}
		if !strings.Contains(nightly, "make integration KUBERNETES="+release+"\n") {
			t.Errorf("no workflow runs the integration tests on %s", release)
		}
	}
	if !strings.Contains(makefile, "go mod tidy -diff -modfile=kubernetes-$(KUBERNETES).mod") {
		t.Error("make integration does not look whether the modules of another release are tidy")
	}
	client := regexp.MustCompile(`k8s\.io/client-go v0\.(\d+)\.`).FindStringSubmatch(read(t, "go.mod"))
	if client == nil || !regexp.MustCompile(`(?m)^\| 1\.`+client[1]+`(\.\d+)? \|.*client libraries are of this release`).MatchString(page) {
		t.Errorf("the page does not name the release of the client libraries: %v", client)
	}
}

// TestSharedVersions: the modules that are compiled beside the operator, on a machine that has nothing yet, require what the operator
// requires at the same versions. A package is compiled again if a module below it has another version: two minutes for client-go.
func TestSharedVersions(t *testing.T) {
	required := func(file string) map[string]string {
		versions := map[string]string{}
		for _, line := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)`).FindAllStringSubmatch(read(t, file), -1) {
			versions[line[1]] = line[2]
		}
		return versions
	}
	ours := required("go.mod")
	for _, folder := range []string{"clients/go", "localcluster", "test/e2e/coredns", "tools", "tools/comparison", "tools/dropin", "tools/helm", "tools/integrations"} {
		file := folder + "/go.mod"
		shared := 0
		for module, version := range required(file) {
			if ours[module] == "" {
				continue
			}
			if shared++; ours[module] != version {
				t.Errorf("%s: %s in go.mod, %s in %s", module, ours[module], version, file)
			}
		}
		if shared < 20 {
			t.Errorf("%d modules are required by go.mod and %s", shared, file)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

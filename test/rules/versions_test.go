package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSupportedVersions: docs/supported-versions.md names each Kubernetes release that the local control plane can be compiled
// from, with its file, and that of the client libraries. Makefile and workflows know it, too.
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

// TestSharedVersions: the modules that are compiled on an empty machine require their common dependencies at one version. A package is
// compiled again if a module below it has another version: two minutes for client-go, one more for Kubernetes' API server.
func TestSharedVersions(t *testing.T) {
	modules := []string{
		".", "clients/go", "localcluster", "localcluster/kine", "test/e2e/coredns", "tools", "tools/dropin", "tools/helm",
		"tools/image", "tools/integrations", "tools/lint", "tools/promql", "tools/vuln",
	}
	// The clients of training-operator v1.9.4 need an older controller-runtime.
	apart := map[string][]string{"tools/dropin": {"github.com/sirupsen/logrus", "sigs.k8s.io/controller-runtime"}}
	type requirement struct{ version, file string }
	first := map[string]requirement{}
	shared := map[string]int{}
	for _, folder := range modules {
		file := filepath.Join(folder, "go.mod")
		for _, line := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)`).FindAllStringSubmatch(read(t, file), -1) {
			module, version := line[1], line[2]
			other, known := first[module]
			switch {
			case slices.Contains(apart[folder], module):
			case !known:
				first[module] = requirement{version, file}
			case other.version != version:
				t.Errorf("%s: %s in %s, %s in %s", module, other.version, other.file, version, file)
			case other.file == "go.mod":
				shared[folder]++
			}
		}
	}
	small := map[string]int{"tools/lint": 4, "tools/promql": 15, "tools/vuln": 4}
	for _, folder := range modules[1:] {
		least, known := small[folder]
		if !known {
			least = 20
		}
		if shared[folder] < least {
			t.Errorf("%d modules are required by go.mod and %s", shared[folder], folder)
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

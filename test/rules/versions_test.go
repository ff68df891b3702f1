package rules

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSupportedVersions: docs/supported-versions.md names each Kubernetes release that the local control plane can be compiled
// from, and the workflow of the night tests it.
func TestSupportedVersions(t *testing.T) {
	page := read(t, "docs/supported-versions.md")
	nightly := read(t, ".github/workflows/nightly.yaml")
	files, err := filepath.Glob(filepath.Join(root, "localcluster", "*.mod"))
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
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(version[1]) + ` \|.*` + regexp.QuoteMeta("`localcluster/"+name+"`"))
		if !row.MatchString(page) {
			t.Errorf("docs/supported-versions.md has no row of %s with localcluster/%s", version[1], name)
		}
		release, isOther := strings.CutPrefix(strings.TrimSuffix(name, ".mod"), "kubernetes-")
		if isOther && !strings.Contains(nightly, "KUBERNETES="+release+"\n") {
			t.Errorf("no workflow runs the integration tests on %s", release)
		}
	}
}

// TestSharedVersions: the modules require the modules of Kubernetes at one version. A package is compiled again if a
// module below it has another version: two minutes for client-go, one more for the API server.
func TestSharedVersions(t *testing.T) {
	type requirement struct{ version, file string }
	first := map[string]requirement{}
	eachFile(t, func(file, text string) {
		for _, line := range regexp.MustCompile(`(?m)^(?:require |\t)((?:k8s\.io|sigs\.k8s\.io)/\S+) (v\S+)`).FindAllStringSubmatch(text, -1) {
			module, version := line[1], line[2]
			other, isKnown := first[module]
			if !isKnown {
				first[module] = requirement{version, file}
			} else if other.version != version {
				t.Errorf("%s: %s in %s, %s in %s", module, other.version, other.file, version, file)
			}
		}
	}, "/go.mod")
	if len(first) < 10 {
		t.Errorf("found %d modules", len(first))
	}
}

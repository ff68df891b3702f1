package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func arguments(t *testing.T, repository string) []string {
	t.Helper()
	return []string{"-chart", "../../../deploy/chart", "-out", t.TempDir(), "-version", "v1.2.3-rc.1", "-repository", repository, "-digest", digest}
}

// TestPackage: an installation of the archive without values runs the image of the release.
func TestPackage(t *testing.T) {
	var said strings.Builder
	if err := run(arguments(t, "ghcr.io/owner/stoic"), &said, io.Discard); err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSpace(said.String())
	if filepath.Base(file) != "training-operator-1.2.3-rc.1.tgz" {
		t.Errorf("the archive is %s", file)
	}
	c, err := loader.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Metadata.Version != "1.2.3-rc.1" || c.Metadata.AppVersion != "v1.2.3-rc.1" {
		t.Errorf("version %s of %s", c.Metadata.Version, c.Metadata.AppVersion)
	}
	values, err := commonutil.ToRenderValues(c, map[string]any{"crds": map[string]any{"enabled": false}},
		common.ReleaseOptions{Name: "r", Namespace: "n", IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range []string{"deployment.yaml"} {
		if text := rendered["training-operator/templates/"+template]; !strings.Contains(text, `image: "ghcr.io/owner/stoic@`+digest+`"`) {
			t.Errorf("%s runs another image:\n%s", template, text)
		}
	}
}

// TestWrongFacts: a chart without its image is not written.
func TestWrongFacts(t *testing.T) {
	for _, wrong := range []struct{ repository, flag, value, says string }{
		{"ghcr.io/Owner/stoic", "-version", "v1.2.3", "-repository"},
		{"", "-version", "v1.2.3", "-repository"},
		{"ghcr.io/owner/stoic", "-version", "1.2.3", "-version"},
		{"ghcr.io/owner/stoic", "-digest", "", "-digest"},
		{"ghcr.io/owner/stoic", "-digest", "sha256:0", "-digest"},
		{"ghcr.io/owner/stoic", "-chart", "nowhere", "read the chart"},
	} {
		args := append(arguments(t, wrong.repository), wrong.flag, wrong.value)
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%v: got error %v, want one that names %s", args, err, wrong.says)
		}
	}
	c, err := loader.LoadDir("../../../deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	f := facts{"v1.2.3", "ghcr.io/owner/stoic", digest}
	if err := f.write(c); err != nil {
		t.Fatal(err)
	}
	if err := f.write(c); err == nil {
		t.Error("values that have an image already are taken for those of the checkout")
	}
}

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func testOptions(t *testing.T) options {
	return options{root: "../..", out: t.TempDir(), architectures: "amd64,arm64", version: "v9.8.7+test", revision: strings.Repeat("ab", 20),
		source: "https://example.org/team/stoic", created: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)}
}

// TestImage builds the image twice, the second time with settings of Go that another user may have.
func TestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the operator for two platforms")
	}
	o := testOptions(t)
	images, index, err := build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("GOARM64", "v9.0")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("TZ", "Asia/Tokyo")
	_, again, err := build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Digest(); err != nil || second != digest {
		t.Errorf("two builds have the digests %s and %s, %v", digest, second, err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, image := range images {
		checkImage(t, o, image, machines[image.architecture])
		checkSBOM(t, o, image)
	}
	if err := write(o, images, index, digest); err != nil {
		t.Fatal(err)
	}
	checkLayout(t, o, digest)
}

func checkImage(t *testing.T, o options, image platformImage, machine elf.Machine) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{User: "65532:65532", Entrypoint: []string{"/stoic"}, WorkingDir: "/", Labels: o.labels()}
	if diff := cmp.Diff(want, config.Config); diff != "" || config.OS != "linux" || config.Architecture != image.architecture {
		t.Errorf("%s: configuration of %s/%s (-want +got):\n%s", image.architecture, config.OS, config.Architecture, diff)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%s: %d layers, %v", image.architecture, len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(content)
	link, err := reader.Next()
	if err != nil || link.Name != "manager" || link.Linkname != "stoic" {
		t.Errorf("%s: the first file is %+v, %v", image.architecture, link, err)
	}
	header, err := reader.Next()
	if err != nil || header.Name != "stoic" || header.Mode != 0o755 {
		t.Fatalf("%s: the second file is %+v, %v", image.architecture, header, err)
	}
	program, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("%s: the image has a third file", image.architecture)
	}
	parsed, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || parsed.Machine != machine {
		t.Fatalf("%s: the program is for %v, %v", image.architecture, parsed, err)
	}
	for _, segment := range parsed.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("%s: the program needs libraries", image.architecture)
		}
	}
	if !bytes.Contains(program, []byte(o.version)) {
		t.Errorf("%s: the program does not have the version %s", image.architecture, o.version)
	}
}

// checkSBOM checks that the document names the modules that go.mod requires for the operator, at their versions.
func checkSBOM(t *testing.T, o options, image platformImage) {
	t.Helper()
	encoded, err := image.sbom(o)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(encoded, &d); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, p := range d.Packages {
		versions[p.Name] = p.Version
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/client-go", "k8s.io/apimachinery", "go.uber.org/zap"} {
		if required := regexp.MustCompile(`(?m)^\t` + module + ` (\S+)`).FindSubmatch(gomod); required == nil || versions[module] != string(required[1]) {
			t.Errorf("%s: %s is %q in the SBOM, %q in go.mod", image.architecture, module, versions[module], required)
		}
	}
	if digest, err := image.Digest(); err != nil || versions["stoic"] != o.version || !strings.HasSuffix(d.Namespace, digest.Hex) || len(d.Packages) < 20 {
		t.Errorf("%s: %d packages, version %s, namespace %s, %v", image.architecture, len(d.Packages), versions["stoic"], d.Namespace, err)
	}
}

func checkLayout(t *testing.T, o options, digest v1.Hash) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(o.out, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	named := manifest.Manifests[0]
	if len(manifest.Manifests) != 1 || named.Digest != digest || named.Annotations["io.containerd.image.name"] != "docker.io/library/stoic:v9.8.7-test" {
		t.Errorf("the layout has %+v", manifest.Manifests)
	}
}

// TestDockerfile checks that the Dockerfile, for those who build with a container engine, agrees with this program.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{`go build -trimpath -buildvcs=false -ldflags="-s -w -X stoic/cli/command.Version=$VERSION" -o /image/stoic .`,
		"ln -s stoic /image/manager", "\nFROM scratch\n", "\nUSER 65532:65532\n", "\nENTRYPOINT [\"/stoic\"]\n"}
	for label := range testOptions(t).labels() {
		wanted = append(wanted, label+"=")
	}
	for _, line := range wanted {
		if !strings.Contains(string(text), line) {
			t.Errorf("the Dockerfile has no %q", line)
		}
	}
}

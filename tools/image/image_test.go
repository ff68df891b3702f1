package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

const repository = "../.."

func testFacts() facts {
	return facts{Version: "v9.8.7+test", Revision: strings.Repeat("ab", 20), Source: "https://example.org/team/stoic",
		Created: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)}
}

func bothPlatforms() []v1.Platform {
	return []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
}

// buildContext copies exactly the files that .dockerignore lets a container engine see: if they suffice here, they suffice there.
func buildContext(t *testing.T, to string) {
	t.Helper()
	text, err := os.Open(filepath.Join(repository, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	patterns, err := ignorefile.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	tracked, err := exec.CommandContext(t.Context(), "git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	for _, path := range strings.Split(strings.TrimSuffix(string(tracked), "\x00"), "\x00") {
		left, err := ignored.MatchesOrParentMatches(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(repository, path))
		if left || os.IsNotExist(err) { // deleted, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func buildIn(t *testing.T, folder string) *artifact {
	t.Helper()
	buildContext(t, folder)
	a, err := build(t.Context(), folder, testFacts(), bothPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func digestOf(t *testing.T, of interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestImage builds twice, in folders with other names, from what the Dockerfile would see.
func TestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the operator for two platforms")
	}
	a := buildIn(t, filepath.Join(t.TempDir(), "a"))
	folder := t.TempDir()
	if err := a.write(folder); err != nil {
		t.Fatal(err)
	}
	t.Run("a second build", func(t *testing.T) { sameAgain(t, a, folder) })
	t.Run("platforms", func(t *testing.T) { platformsAreRight(t, a) })
	t.Run("configuration", func(t *testing.T) { configurationIsRight(t, a) })
	t.Run("files", func(t *testing.T) { filesAreRight(t, a) })
	t.Run("version", func(t *testing.T) { versionIsRight(t, a) })
	t.Run("layout", func(t *testing.T) { layoutIsRight(t, a, filepath.Join(folder, layoutFolder)) })
	t.Run("archive", func(t *testing.T) { archiveIsRight(t, a, filepath.Join(folder, archiveFile)) })
	t.Run("registry", func(t *testing.T) { registryHasIt(t, a) })
	t.Run("SBOM", func(t *testing.T) { sbomIsRight(t, a) })
}

// sameAgain builds in another folder, with settings of Go that another user may have, and writes to a folder that is not empty.
func sameAgain(t *testing.T, a *artifact, written string) {
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("GOARM64", "v9.0")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("TZ", "Asia/Tokyo")
	b := buildIn(t, filepath.Join(t.TempDir(), "another", "folder"))
	if one, two := digestOf(t, a.index), digestOf(t, b.index); one != two {
		t.Errorf("two builds have the digests %s and %s", one, two)
	}
	again := t.TempDir()
	for range 2 {
		if err := b.write(again); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{archiveFile, digestFile} {
		one, err := os.ReadFile(filepath.Join(written, file))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(again, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("two builds write another %s", file)
		}
	}
	f := testFacts()
	f.Created = f.Created.Add(time.Second)
	other, err := assemble(a.programs[0], f, a.platforms[0])
	if err != nil {
		t.Fatal(err)
	}
	if digestOf(t, other) == digestOf(t, a.images[0]) {
		t.Error("the date of the commit is not in the digest")
	}
}

// platformsAreRight: a node can run the program that it chooses by the index.
func platformsAreRight(t *testing.T, a *artifact) {
	manifest, err := a.index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex {
		t.Errorf("the index is a %s", manifest.MediaType)
	}
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for i, described := range manifest.Manifests {
		p := described.Platform.String()
		image, err := a.index.Image(described.Digest)
		if err != nil {
			t.Fatal(err)
		}
		content := filesOf(t, image)[program].body
		if !bytes.Equal(content, a.programs[i]) {
			t.Errorf("%s: the image holds another program", p)
		}
		f, err := elf.NewFile(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machines[p] || machines[p] == 0 {
			t.Errorf("%s: the program is for %s", p, f.Machine)
		}
		for _, part := range f.Progs {
			if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
				t.Errorf("%s: the program needs libraries: it has a segment %s", p, part.Type)
			}
		}
		delete(machines, p)
	}
	if len(machines) > 0 {
		t.Errorf("not in the index: %v", machines)
	}
	if diff := cmp.Diff(testFacts().labels(), manifest.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
}

func configurationIsRight(t *testing.T, a *artifact) {
	for i, image := range a.images {
		got, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		created := v1.Time{Time: testFacts().Created}
		want := &v1.ConfigFile{OS: "linux", Architecture: a.platforms[i].Architecture, Created: created, RootFS: got.RootFS,
			History: []v1.History{{Created: created, CreatedBy: "COPY --from=build /image/ /"}},
			Config: v1.Config{User: "65532:65532", Entrypoint: []string{"/stoic"}, WorkingDir: "/",
				Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
				Labels: map[string]string{
					"org.opencontainers.image.title":       "stoic",
					"org.opencontainers.image.description": "Kubernetes operator for training jobs of kubeflow.org",
					"org.opencontainers.image.licenses":    "Apache-2.0",
					"org.opencontainers.image.source":      "https://example.org/team/stoic",
					"org.opencontainers.image.version":     "v9.8.7+test",
					"org.opencontainers.image.revision":    strings.Repeat("ab", 20),
					"org.opencontainers.image.created":     "2026-11-20T10:30:00Z",
				}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.platforms[i], diff)
		}
	}
}

type entry struct {
	header tar.Header
	body   []byte
}

// filesOf returns the files of all layers of an image, by name.
func filesOf(t *testing.T, image v1.Image) map[string]entry {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]entry{}
	for _, l := range layers {
		content, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(content); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			found[h.Name] = entry{*h, body}
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// filesAreRight: the image contains the program and its second name, and nothing else, such as a shell.
func filesAreRight(t *testing.T, a *artifact) {
	for i, image := range a.images {
		got := map[string]tar.Header{}
		for name, file := range filesOf(t, image) {
			got[name] = file.header
		}
		at := testFacts().Created
		want := map[string]tar.Header{
			"manager": {Typeflag: tar.TypeSymlink, Name: "manager", Linkname: "stoic", Mode: 0o777, ModTime: at, Format: tar.FormatUSTAR},
			"stoic":   {Typeflag: tar.TypeReg, Name: "stoic", Mode: 0o755, Size: int64(len(a.programs[i])), ModTime: at, Format: tar.FormatUSTAR},
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.platforms[i], diff)
		}
	}
}

// versionIsRight runs the program of the machine's own platform, if it is one of the two.
func versionIsRight(t *testing.T, a *artifact) {
	for i, p := range a.platforms {
		if p.OS != runtime.GOOS || p.Architecture != runtime.GOARCH {
			if !bytes.Contains(a.programs[i], []byte(testFacts().Version)) {
				t.Errorf("the program for %s does not hold its version", p)
			}
			continue
		}
		path := filepath.Join(t.TempDir(), program)
		if err := os.WriteFile(path, a.programs[i], 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), path, "version", "-o", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Version string }
		if err := json.Unmarshal(out, &said); err != nil || said.Version != testFacts().Version {
			t.Errorf("the program says %s (%v)", out, err)
		}
	}
}

func layoutIsRight(t *testing.T, a *artifact, path string) {
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digestOf(t, a.index) {
		t.Fatalf("the layout has %+v, want the index %s", manifest.Manifests, digestOf(t, a.index))
	}
	want := map[string]string{"io.containerd.image.name": "docker.io/library/stoic:v9.8.7-test", "org.opencontainers.image.ref.name": "v9.8.7-test"}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	inner, err := index.ImageIndex(digestOf(t, a.index))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(inner); err != nil {
		t.Error(err)
	}
}

// archiveIsRight: docker load finds the image of the first platform, and the unpacked archive equals the layout.
func archiveIsRight(t *testing.T, a *artifact, file string) {
	tag, err := name.NewTag("stoic:v9.8.7-test")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(file, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	got, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := a.images[0].ConfigName(); err != nil || got != want {
		t.Errorf("docker load finds the configuration %s, want %s (%v)", got, want, err)
	}
	unpacked := t.TempDir()
	if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "tar", "-xf", file, "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	layoutIsRight(t, a, unpacked)
}

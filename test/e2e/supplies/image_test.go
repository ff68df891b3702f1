package supplies

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archive returns the content of a tar archive: files by their names, or where a link leads.
func archive(t *testing.T, content io.Reader) map[string]string {
	t.Helper()
	found := map[string]string{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(text)
		if header.Linkname != "" {
			found[header.Name] = "-> " + header.Linkname
		}
	}
}

// TestImage follows an image as its reader does: from the index to the manifest, to its settings and its layer. Each blob matches
// its digest.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(dir, "layer.tar")
	if err := layer(files, []file{{path: "program", from: program}, {path: "bin/other", link: "/program"}}); err != nil {
		t.Fatal(err)
	}
	image := Image{Name: host + "made:1", Tar: filepath.Join(dir, "image.tar")}
	if err := image.write(files, settings{Entrypoint: []string{"/program"}, User: "1:1"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.Open(image.Tar)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	parts := archive(t, content)
	blobOf := func(d descriptor) string {
		t.Helper()
		text, there := parts[blobPath(d)]
		sum := sha256.Sum256([]byte(text))
		if !there || d.Digest != "sha256:"+hex.EncodeToString(sum[:]) || d.Size != int64(len(text)) {
			t.Fatalf("%+v: there is a blob of %d bytes", d, len(text))
		}
		return text
	}
	var index struct{ Manifests []descriptor }
	decode(t, parts["index.json"], &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations["io.containerd.image.name"] != image.Name {
		t.Fatalf("the index names %+v", index.Manifests)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blobOf(index.Manifests[0]), &manifest)
	var config struct {
		Config settings
		RootFS struct {
			IDs []string `json:"diff_ids"`
		}
	}
	decode(t, blobOf(manifest.Config), &config)
	if config.Config.User != "1:1" || len(manifest.Layers) != 1 || !cmp.Equal(config.RootFS.IDs, []string{manifest.Layers[0].Digest}) {
		t.Errorf("settings %+v, layers %+v", config, manifest.Layers)
	}
	want := map[string]string{"program": "#!/bin/sh\n", "bin/other": "-> /program"}
	if diff := cmp.Diff(want, archive(t, strings.NewReader(blobOf(manifest.Layers[0])))); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// TestWhole: a file whose writing fails does not exist, and nothing is in its place.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	refused := errors.New("refused")
	err := whole(filepath.Join(dir, "file"), func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, refused)
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

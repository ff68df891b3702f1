package supplies

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// host precedes each image's name. No such host exists, so nothing can be pulled from it.
const host = "e2e.invalid/"

// Image is the archive of one image, as `ctr images import` reads it.
type Image struct {
	Name string // with host and tag
	Tar  string
	// Late: a node is usable before it has this image.
	Late bool
}

// Split splits the name of an image from its tag. The host may have a port.
func Split(name string) (image, tag string) {
	at := strings.LastIndexByte(name, ':')
	return name[:at], name[at+1:]
}

// settings are what an image says of how it runs.
type settings struct {
	Entrypoint []string `json:",omitempty"`
	User       string   `json:",omitempty"`
	Env        []string
}

// file is one file of an image that has nothing else: a program, or a symbolic link.
type file struct {
	path string // in the image, without a leading slash
	from string // the program on this machine
	link string // in place of from: where the link leads
}

// descriptor points to a blob of an OCI layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

// write makes the archive of an image of one layer, itself a tar archive: completely, or not at all.
func (i Image) write(layer string, run settings) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the image %s: %w", i.Name, err)
		}
	}()
	content, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer content.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, content)
	if err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	files := descriptor{MediaType: typeLayer, Digest: "sha256:" + hex.EncodeToString(hash.Sum(nil)), Size: size}
	return whole(i.Tar, func(out *os.File) error { return i.archive(out, files, content, run) })
}

func (i Image) archive(out io.Writer, layer descriptor, content io.Reader, run settings) error {
	config, configBlob, err := blob(typeConfig, map[string]any{"architecture": runtime.GOARCH, "os": "linux", "config": run,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}}})
	if err != nil {
		return err
	}
	manifest, manifestBlob, err := blob(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config,
		"layers": []descriptor{layer}})
	if err != nil {
		return err
	}
	manifest.Annotations = map[string]string{"io.containerd.image.name": i.Name}
	_, index, err := blob(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{manifest}})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, part := range []struct {
		name    string
		content []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{blobPath(config), configBlob},
		{blobPath(manifest), manifestBlob},
	} {
		if err := add(archive, part.name, int64(len(part.content)), strings.NewReader(string(part.content))); err != nil {
			return err
		}
	}
	if err := add(archive, blobPath(layer), layer.Size, content); err != nil {
		return err
	}
	return archive.Close()
}

func blob(mediaType string, content any) (descriptor, []byte, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return descriptor{}, nil, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	sum := sha256.Sum256(encoded)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(encoded))}, encoded, nil
}

func blobPath(d descriptor) string { return "blobs/" + strings.ReplaceAll(d.Digest, ":", "/") }

func add(archive *tar.Writer, name string, size int64, content io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := io.Copy(archive, content); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

// layer writes a layer of programs and links. Its bytes depend only on those of the programs.
func layer(path string, files []file) error {
	return whole(path, func(out *os.File) error {
		archive := tar.NewWriter(out)
		for _, f := range files {
			if err := f.add(archive); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

func (f file) add(archive *tar.Writer) error {
	header := &tar.Header{Name: f.path, Mode: 0o755, ModTime: time.Unix(0, 0)}
	if f.link != "" {
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
		return archive.WriteHeader(header)
	}
	program, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer program.Close()
	info, err := program.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, program)
	return err
}

// whole writes a file completely or not at all.
func whole(path string, write func(*os.File) error) error {
	scratch, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = errors.Join(write(scratch), scratch.Close())
	if err == nil {
		err = os.Rename(scratch.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(scratch.Name())))
	}
	return nil
}

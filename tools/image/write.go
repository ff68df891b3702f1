package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	layoutFolder = "oci"
	archiveFile  = "stoic.tar"
	digestFile   = "digest"
)

// write replaces the content of the folder: the layout, an archive of it, and the digest.
func (a *artifact) write(folder string) error {
	oci := filepath.Join(folder, layoutFolder)
	if err := os.RemoveAll(oci); err != nil {
		return fmt.Errorf("remove the former image: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a place for the image: %w", err)
	}
	path, err := layout.Write(oci, empty.Index)
	if err != nil {
		return fmt.Errorf("begin the layout: %w", err)
	}
	digest, err := a.index.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest of the index: %w", err)
	}
	// containerd names an imported image by the first annotation; OCI tools find a tag by the second.
	named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": a.reference(), "org.opencontainers.image.ref.name": a.tag()})
	if err := path.ReplaceIndex(a.index, match.Digests(digest), named); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	if err := a.archive(oci, filepath.Join(folder, archiveFile)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, digestFile), []byte(digest.String()+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the digest: %w", err)
	}
	return nil
}

// reference returns the name that an imported image gets; deploy/kustomization.yaml has the same.
func (a *artifact) reference() string { return "docker.io/library/stoic:" + a.tag() }

// tag returns the version with characters that are legal in a tag: + begins the metadata of a semantic version.
func (a *artifact) tag() string { return strings.ReplaceAll(a.version, "+", "-") }

// archive writes the layout as one file. docker load reads manifest.json in it, which can name only one platform: the first.
func (a *artifact) archive(oci, file string) (err error) {
	manifest, err := a.dockerManifest()
	if err != nil {
		return fmt.Errorf("describe the image for docker load: %w", err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("begin the archive: %w", err)
	}
	defer func() {
		if failure := out.Close(); failure != nil && err == nil {
			err = fmt.Errorf("end the archive: %w", failure)
		}
	}()
	w := tar.NewWriter(out)
	// WalkDir walks in the order of names, and fs.FS uses slashes.
	err = fs.WalkDir(os.DirFS(oci), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return addFile(w, oci, path)
	})
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := addEntry(w, "manifest.json", int64(len(manifest)), strings.NewReader(string(manifest))); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

func addFile(w *tar.Writer, folder, path string) error {
	from, err := os.Open(filepath.Join(folder, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return addEntry(w, path, info.Size(), from)
}

func addEntry(w *tar.Writer, path string, size int64, from io.Reader) error {
	if err := w.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := io.Copy(w, from)
	return err
}

func (a *artifact) dockerManifest() ([]byte, error) {
	image := a.images[0]
	config, err := image.ConfigName()
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	one := struct {
		Config           string
		RepoTags, Layers []string
	}{Config: blob(config), RepoTags: []string{"stoic:" + a.tag()}}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return nil, err
		}
		one.Layers = append(one.Layers, blob(digest))
	}
	return json.Marshal([]any{one})
}

func blob(of v1.Hash) string { return "blobs/" + of.Algorithm + "/" + of.Hex }

// push pushes everything to a registry, with the credentials of the user's Docker configuration.
func (a *artifact) push(ctx context.Context, reference string, insecure bool) error {
	var options []name.Option
	if insecure {
		options = append(options, name.Insecure)
	}
	to, err := name.ParseReference(reference, options...)
	if err != nil {
		return fmt.Errorf("read where to push to: %w", err)
	}
	if err := remote.WriteIndex(to, a.index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push to %s: %w", to, err)
	}
	return nil
}

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// platformImage is the image for one architecture of Linux.
type platformImage struct {
	v1.Image
	architecture string
	program      []byte
}

// build returns an image for each architecture, and the index of both.
func build(ctx context.Context, o options) ([]platformImage, v1.ImageIndex, error) {
	var images []platformImage
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range strings.Split(o.architectures, ",") {
		program, err := compile(ctx, o, architecture)
		if err != nil {
			return nil, nil, err
		}
		image, err := assemble(o, program, architecture)
		if err != nil {
			return nil, nil, fmt.Errorf("assemble the image for %s: %w", architecture, err)
		}
		images = append(images, platformImage{Image: image, architecture: architecture, program: program})
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return images, mutate.Annotations(index, o.labels()).(v1.ImageIndex), nil
}

// compile returns the operator's program. Settings of Go that a user has for other programs do not change it.
func compile(ctx context.Context, o options, architecture string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "stoic-image-")
	if err != nil {
		return nil, fmt.Errorf("compile the operator: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "stoic")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X stoic/cli/command.Version="+o.version, "-o", file, ".")
	command.Dir = o.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture, "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the operator for %s: %w\n%s", architecture, err, out)
	}
	return os.ReadFile(file)
}

// assemble puts a program into an image of one layer.
func assemble(o options, program []byte, architecture string) (v1.Image, error) {
	content, err := archive(program, o.created)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "tools/image"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS = "linux"
	config.Architecture = architecture
	config.Created = v1.Time{Time: o.created}
	// The user is a number, so that the kubelet can see that it is not root.
	config.Config = v1.Config{User: "65532:65532", Entrypoint: []string{"/stoic"}, WorkingDir: "/", Labels: o.labels()}
	return mutate.ConfigFile(image, config)
}

// archive returns the files of the image: the program, and a link with the name that it has in the image of training-operator v1.9.
func archive(program []byte, created time.Time) ([]byte, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	link := &tar.Header{Name: "manager", Typeflag: tar.TypeSymlink, Linkname: "stoic", Mode: 0o777, ModTime: created, Format: tar.FormatUSTAR}
	if err := writer.WriteHeader(link); err != nil {
		return nil, err
	}
	file := &tar.Header{Name: "stoic", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program)), ModTime: created, Format: tar.FormatUSTAR}
	if err := writer.WriteHeader(file); err != nil {
		return nil, err
	}
	if _, err := writer.Write(program); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// labels returns the labels of the images, which are the annotations of the index.
func (o options) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "stoic",
		"org.opencontainers.image.description": "Kubernetes operator for training jobs of kubeflow.org",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      o.source,
		"org.opencontainers.image.version":     o.version,
		"org.opencontainers.image.revision":    o.revision,
		"org.opencontainers.image.created":     o.created.Format(time.RFC3339),
	}
}

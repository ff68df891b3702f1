package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	program = "stoic"
	// predecessor is the command of the image of training-operator v1.9; a Deployment that names it continues to work.
	predecessor = "manager"
	// user is a number, so that the kubelet can verify that it is not root.
	user = "65532:65532"
)

// artifact is the result of a build.
type artifact struct {
	version   string
	platforms []v1.Platform
	programs  [][]byte // by platform
	images    []v1.Image
	index     v1.ImageIndex
}

func build(ctx context.Context, root string, f facts, platforms []v1.Platform) (*artifact, error) {
	a := &artifact{version: f.Version, platforms: platforms, index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	var parts []mutate.IndexAddendum
	for _, p := range platforms {
		content, err := compile(ctx, root, f.Version, p)
		if err != nil {
			return nil, err
		}
		image, err := assemble(content, f, p)
		if err != nil {
			return nil, fmt.Errorf("assemble the image for %s: %w", p.String(), err)
		}
		a.programs, a.images = append(a.programs, content), append(a.images, image)
		parts = append(parts, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	a.index = mutate.AppendManifests(a.index, parts...)
	// Readers that see only the index, such as a registry's page, get the labels of the images' configurations.
	index, ok := mutate.Annotations(a.index, f.labels()).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotate the index: it is one no more")
	}
	a.index = index
	return a, nil
}

// assemble puts a program into an image.
func assemble(content []byte, f facts, p v1.Platform) (v1.Image, error) {
	text, err := layer(content, f.Created)
	if err != nil {
		return nil, err
	}
	files, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("compress the layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: files, History: v1.History{
		Created: v1.Time{Time: f.Created}, CreatedBy: "COPY --from=build /image/ /"}})
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.OS, p.Architecture, v1.Time{Time: f.Created}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + program}, Labels: f.labels(), WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	return mutate.ConfigFile(image, config)
}

// layer returns a tar archive of all files of the image, in the order of their names.
func layer(content []byte, created time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range []struct {
		header tar.Header
		body   []byte
	}{
		{tar.Header{Name: predecessor, Typeflag: tar.TypeSymlink, Linkname: program, Mode: 0o777}, nil},
		{tar.Header{Name: program, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}, content},
	} {
		file.header.ModTime, file.header.Format = created, tar.FormatUSTAR
		if err := w.WriteHeader(&file.header); err != nil {
			return nil, fmt.Errorf("write %s into the layer: %w", file.header.Name, err)
		}
		if _, err := w.Write(file.body); err != nil {
			return nil, fmt.Errorf("write %s into the layer: %w", file.header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("end the layer: %w", err)
	}
	return out.Bytes(), nil
}

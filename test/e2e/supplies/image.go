package supplies

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// host precedes each image's name. No such host exists, so nothing can be pulled from it.
const host = "e2e.invalid/"

// Image is the archive of one image, as `docker save` writes it and `ctr images import` reads it.
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

// write makes the archive of an image of one layer: completely, or not at all.
func (i Image) write(layer string, run settings) error {
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
	config, err := json.Marshal(map[string]any{"architecture": runtime.GOARCH, "os": "linux", "config": run,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", hash.Sum(nil))}}})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{i.Name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	return whole(i.Tar, func(out *os.File) error {
		archive := tar.NewWriter(out)
		return errors.Join(
			add(archive, "manifest.json", int64(len(manifest)), bytes.NewReader(manifest)),
			add(archive, "config.json", int64(len(config)), bytes.NewReader(config)),
			add(archive, "layer.tar", size, content),
			archive.Close())
	})
}

func add(archive *tar.Writer, name string, size int64, content io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: size, Typeflag: tar.TypeReg}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := io.Copy(archive, content); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

// layer writes a layer of programs: the map is from their paths in the image to those on this machine.
func layer(path string, programs map[string]string) error {
	return whole(path, func(out *os.File) error {
		archive := tar.NewWriter(out)
		for name, from := range programs {
			content, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if err := add(archive, name, int64(len(content)), bytes.NewReader(content)); err != nil {
				return err
			}
		}
		return archive.Close()
	})
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

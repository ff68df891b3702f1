package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"stoic/cli/checkout"
)

// folder is where the sources are, below the root of a checkout.
const folder = "localcluster"

// moduleLine identifies the sources; a folder may have the same name by chance.
const moduleLine = "module stoic/localcluster"

// ErrNoSource says what to do, because only the user can do it.
var ErrNoSource = errors.New("the sources of the local control plane were not found: " +
	"run inside a checkout of stoic or a module that requires it, or name its folder localcluster")

// findSource returns the folder of the sources: below or beside a folder above
// the working directory or the executable, else in the engine that the module
// of the working directory requires.
func (o Options) findSource(ctx context.Context) (string, error) {
	if o.Source != "" {
		if !isSource(o.Source) {
			return "", fmt.Errorf("look for sources in %s: %w", o.Source, ErrNoSource)
		}
		return filepath.Abs(o.Source)
	}
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if program, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(program))
	}
	for _, dir := range starts {
		for parent := ""; dir != parent; parent, dir = dir, filepath.Dir(dir) {
			if candidate := filepath.Join(dir, folder); isSource(candidate) {
				return candidate, nil
			}
		}
	}
	if engine := checkout.Required(ctx, "."); engine != "" {
		if candidate := filepath.Join(engine, folder); isSource(candidate) {
			return candidate, nil
		}
	}
	return "", ErrNoSource
}

func isSource(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(content), moduleLine)
}

// ownModfile is what the sources are built with unless another release of Kubernetes is requested.
const ownModfile = "go.mod"

// modfile returns the name of the file that says which modules to build with.
func (o Options) modfile() string {
	if o.Kubernetes == "" {
		return ownModfile
	}
	return "kubernetes-" + o.Kubernetes + ".mod"
}

// kubernetesVersion reads the Kubernetes release of the sources. The version must be set in the binary, which otherwise calls itself
// v0.0.0.
func kubernetesVersion(source, modfile string) (string, error) {
	content, err := os.ReadFile(filepath.Join(source, modfile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read which Kubernetes to build: %w: there are %s", err, strings.Join(modfiles(source), ", "))
	}
	if err != nil {
		return "", fmt.Errorf("read which Kubernetes to build: %w", err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require\s+)?k8s\.io/kubernetes\s+(v\S+)`).FindSubmatch(content)
	if found == nil {
		return "", fmt.Errorf("read which Kubernetes to build: %s/%s does not require k8s.io/kubernetes", source, modfile)
	}
	return string(found[1]), nil
}

// modfiles returns the names of the available files.
func modfiles(source string) (names []string) {
	found, err := filepath.Glob(filepath.Join(source, "*.mod"))
	if err != nil {
		return nil // the pattern is wrong, which a test shows
	}
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// fingerprint is equal for equal binaries: it covers everything that the build reads.
func fingerprint(source, modfile string, toolchain ...string) (string, error) {
	hash := sha256.New()
	if modfile != ownModfile {
		fmt.Fprintf(hash, "%q\n", modfile)
	}
	for _, value := range toolchain {
		fmt.Fprintf(hash, "%q\n", value)
	}
	// WalkDir walks in lexical order, so the same files give the same hash.
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || path != source && isModule(path)):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !matters(entry.Name(), modfile):
			return nil
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		return add(hash, filepath.ToSlash(name), path)
	})
	if err != nil {
		return "", fmt.Errorf("hash the sources in %s: %w", source, err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:24], nil
}

// isModule reports whether the folder is a module of its own, which a build of the module around it does not read.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// matters reports whether a binary depends on a file. Tests and notes do not count: an edit of them must not cause a build. Nor do
// the modules of another release of Kubernetes.
func matters(name, modfile string) bool {
	switch filepath.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".mod", ".sum":
		return strings.TrimSuffix(name, filepath.Ext(name)) == strings.TrimSuffix(modfile, ".mod")
	case ".yaml", ".json":
		return true
	}
	return false
}

func add(hash io.Writer, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// The length keeps two files from hashing like one with another boundary.
	fmt.Fprintf(hash, "%q %d\n", name, info.Size())
	_, err = io.Copy(hash, file)
	return err
}

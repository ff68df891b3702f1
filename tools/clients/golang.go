package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	goModule = "stoic/clients/go"
	// apis is where the hand-written types are, in the module; client is where the code generated from them is.
	apis, client = "pkg/apis", "pkg/client"
	groupVersion = "kubeflow.org/v1"
	// generatorsModule has code-generator as tools, in the version of its go.mod.
	generatorsModule = "tools"
)

// generators returns those of code-generator, with their arguments, in an order in which each finds what it reads.
func generators() [][]string {
	types, to := "./"+apis+"/"+groupVersion, goModule+"/"+client
	return [][]string{
		{"deepcopy-gen", "--output-file", "zz_generated.deepcopy.go", types},
		{"register-gen", "--output-file", "zz_generated.register.go", types},
		{"applyconfiguration-gen", "--output-dir", client + "/applyconfiguration", "--output-pkg", to + "/applyconfiguration",
			"--external-applyconfigurations", "k8s.io/api/core/v1.PodTemplateSpec:k8s.io/client-go/applyconfigurations/core/v1,k8s.io/api/autoscaling/v2.MetricSpec:k8s.io/client-go/applyconfigurations/autoscaling/v2",
			types},
		{"client-gen", "--clientset-name", "versioned", "--input-base", goModule + "/" + apis, "--input", groupVersion,
			"--apply-configuration-package", to + "/applyconfiguration", "--output-dir", client + "/clientset", "--output-pkg", to + "/clientset"},
		{"lister-gen", "--output-dir", client + "/listers", "--output-pkg", to + "/listers", types},
		{"informer-gen", "--output-dir", client + "/informers", "--output-pkg", to + "/informers",
			"--versioned-clientset-package", to + "/clientset/versioned", "--listers-package", to + "/listers", types},
	}
}

// golang returns the generated files of the client in Go, by their paths below the folder of the clients. It runs in a copy of the
// module, so that no formerly generated file is read.
func golang(ctx context.Context, progress io.Writer, root string) (map[string][]byte, error) {
	module, err := os.MkdirTemp("", "stoic-clients-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the client in Go: %w", err)
	}
	defer os.RemoveAll(module)
	if err := copyTypes(filepath.Join(root, "clients", "go"), module); err != nil {
		return nil, err
	}
	header := filepath.Join(module, "header.txt")
	if err := os.WriteFile(header, nil, 0o644); err != nil {
		return nil, fmt.Errorf("write the header of generated files: %w", err)
	}
	for _, g := range generators() {
		fmt.Fprintf(progress, "  %s\n", g[0])
		program, err := output(ctx, filepath.Join(root, generatorsModule), "go", "tool", "-n", g[0])
		if err != nil {
			return nil, err
		}
		if _, err := output(ctx, module, strings.TrimSpace(program), append([]string{"--go-header-file", header}, g[1:]...)...); err != nil {
			return nil, err
		}
	}
	return filesIn(module, "go", isGenerated)
}

// isGenerated reports whether a file of the module is generated, by its path in it.
func isGenerated(path string) bool {
	return strings.HasPrefix(path, client+"/") || strings.HasPrefix(path, apis+"/") && strings.HasPrefix(filepath.Base(path), "zz_generated.")
}

// copyTypes makes a module with only the hand-written types.
func copyTypes(from, to string) error {
	files, err := filesIn(from, "", func(path string) bool {
		return path == "go.mod" || path == "go.sum" || strings.HasPrefix(path, apis+"/") && !isGenerated(path)
	})
	if err != nil {
		return err
	}
	return writeFiles(to, files)
}

// filesIn returns the wanted files below a folder, by their paths in it, with below as prefix.
func filesIn(folder, below string, wanted func(path string) bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		in, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if in = filepath.ToSlash(in); !wanted(in) {
			return nil
		}
		files[filepath.ToSlash(filepath.Join(below, in))], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the files in %s: %w", folder, err)
	}
	return files, nil
}

func writeFiles(folder string, files map[string][]byte) error {
	for path, text := range files {
		file := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make the folder of %s: %w", file, err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
	}
	return nil
}

// output runs a program in a folder and returns its standard output.
func output(ctx context.Context, folder, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String(), nil
}

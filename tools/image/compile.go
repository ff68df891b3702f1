package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// linking returns the linker flags of the operator; the Makefile and the Dockerfile have the same.
func linking(version string) string { return "-s -w -X stoic/cli/command.Version=" + version }

// compiling returns the arguments of the go command, except the output path.
func compiling(version string) []string {
	return []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + linking(version)}
}

// environment returns that of the go command. Settings of the user for other programs must not change this one. GOFLAGS could contain
// build tags or -mod, GOEXPERIMENT select another runtime, GOAMD64 require a CPU that not every node has.
func environment(p v1.Platform) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Architecture,
		"GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0", "GO111MODULE=on")
}

// compile returns the operator's program for a platform.
func compile(ctx context.Context, root, version string, p v1.Platform) (content []byte, err error) {
	if strings.ContainsAny(version, " \t\n'\"") {
		return nil, fmt.Errorf("compile version %q: a version has neither spaces nor quotes", version)
	}
	scratch, err := os.MkdirTemp("", "stoic-image-")
	if err != nil {
		return nil, fmt.Errorf("make a place to compile to: %w", err)
	}
	defer func() {
		if failure := os.RemoveAll(scratch); failure != nil && err == nil {
			err = fmt.Errorf("remove what was compiled: %w", failure)
		}
	}()
	output := filepath.Join(scratch, "stoic")
	cmd := exec.CommandContext(ctx, "go", append(compiling(version), "-o", output, ".")...)
	cmd.Dir, cmd.Env = root, environment(p)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("compile the operator for %s: %w\n%s", p.String(), err, messages.String())
	}
	if content, err = os.ReadFile(output); err != nil {
		return nil, fmt.Errorf("read what was compiled for %s: %w", p.String(), err)
	}
	return content, nil
}

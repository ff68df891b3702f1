package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// facts are what an image says about itself besides its content.
type facts struct {
	Version, Revision, Source string
	// Created is the date of the commit: with the time of the build, each build would have another digest.
	Created time.Time
}

// complete asks git for what no flag sets. SOURCE_DATE_EPOCH takes precedence over the date of the commit, as in other build tools.
func (f *facts) complete(ctx context.Context, root, epoch string) error {
	var err error
	if f.Version == "" {
		if f.Version, err = git(ctx, root, "describe", "--tags", "--always", "--dirty"); err != nil {
			return fmt.Errorf("find the version (-version says it): %w", err)
		}
	}
	if f.Revision == "" {
		if f.Revision, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
			return fmt.Errorf("find the revision (-revision says it): %w", err)
		}
	}
	if epoch == "" {
		if epoch, err = git(ctx, root, "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("find the date of the commit (SOURCE_DATE_EPOCH says it): %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: found %q, must be seconds since 1970", epoch)
	}
	f.Created = time.Unix(seconds, 0).UTC()
	return nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errOut.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// labels returns the labels of the image, as the Dockerfile writes them.
func (f facts) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "stoic",
		"org.opencontainers.image.description": "Kubernetes operator for training jobs of kubeflow.org",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      f.Source,
		"org.opencontainers.image.version":     f.Version,
		"org.opencontainers.image.revision":    f.Revision,
		"org.opencontainers.image.created":     f.Created.Format(time.RFC3339),
	}
}

func parsePlatforms(text string) (all []v1.Platform, err error) {
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		p, err := v1.ParsePlatform(strings.TrimSpace(part))
		if err != nil || p.OS != "linux" || p.Architecture == "" || p.Variant != "" || p.OSVersion != "" {
			return nil, fmt.Errorf("read the platforms: found %q, must be such as linux/amd64", part)
		}
		if seen[p.String()] {
			return nil, fmt.Errorf("read the platforms: found %q twice", part)
		}
		seen[p.String()] = true
		all = append(all, *p)
	}
	return all, nil
}

func names(platforms []v1.Platform) (all []string) {
	for _, p := range platforms {
		all = append(all, p.String())
	}
	return all
}

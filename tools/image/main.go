package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the flags, and the time of the commit.
type options struct {
	root, out, push   string
	architectures     string
	version, revision string
	source            string
	created           time.Time
}

func run(ctx context.Context, args []string) error {
	o, err := parse(ctx, args)
	if err != nil {
		return err
	}
	images, index, err := build(ctx, o)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest: %w", err)
	}
	if err := write(o, images, index, digest); err != nil {
		return err
	}
	if o.push != "" {
		reference, err := name.ParseReference(o.push)
		if err != nil {
			return fmt.Errorf("read -push: %w", err)
		}
		if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push to %s: %w", reference, err)
		}
	}
	fmt.Println(digest)
	return nil
}

func parse(ctx context.Context, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "..", "folder of the sources")
	flags.StringVar(&o.out, "out", "../bin/image", "folder to write; a former image in it is replaced")
	flags.StringVar(&o.push, "push", "", "push to this reference, such as registry.example.org/team/stoic:v1.2.3")
	flags.StringVar(&o.architectures, "architectures", "amd64,arm64", "for which architectures of Linux")
	flags.StringVar(&o.version, "version", "dev", "version in the program and in the labels")
	flags.StringVar(&o.revision, "revision", "", "commit, for the labels (default: that of the sources)")
	flags.StringVar(&o.source, "source", "", "address of the repository, for the labels")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if strings.ContainsAny(o.version, " \t\n'\"") {
		return o, fmt.Errorf("-version: found %q, must have neither spaces nor quotes", o.version)
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if o.revision == "" || epoch == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", o.root, "log", "-1", "--format=%H %ct").Output()
		if err != nil {
			return o, fmt.Errorf("ask git for the commit: %w", err)
		}
		revision, seconds, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		o.revision = cmp.Or(o.revision, revision)
		epoch = cmp.Or(epoch, seconds)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return o, fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	o.created = time.Unix(seconds, 0).UTC()
	return o, nil
}

// write replaces the layout, the digest and the SBOMs in the output folder.
func write(o options, images []platformImage, index v1.ImageIndex, digest v1.Hash) error {
	folder := filepath.Join(o.out, "oci")
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the former image: %w", err)
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("begin the layout: %w", err)
	}
	// A tag has no plus sign, which begins the metadata of a semantic version. containerd names an imported image by the first annotation.
	tag := strings.ReplaceAll(o.version, "+", "-")
	named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": "docker.io/library/stoic:" + tag, "org.opencontainers.image.ref.name": tag})
	if err := path.ReplaceIndex(index, match.Digests(digest), named); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.out, "digest"), []byte(digest.String()+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the digest: %w", err)
	}
	for _, image := range images {
		text, err := image.sbom(o)
		if err != nil {
			return fmt.Errorf("describe the image for %s: %w", image.architecture, err)
		}
		if err := os.WriteFile(filepath.Join(o.out, "sbom-linux-"+image.architecture+".spdx.json"), text, 0o644); err != nil {
			return fmt.Errorf("write the SBOM: %w", err)
		}
	}
	return nil
}

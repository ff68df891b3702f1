package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, out, push, platforms string
	sbom, insecure             bool
	facts                      facts
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.root, "root", "../..", "folder of the sources")
	flags.StringVar(&o.out, "out", "../../bin/image", "folder to write; what a former build left there is replaced")
	flags.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "for which platforms, with commas")
	flags.StringVar(&o.push, "push", "", "also push to this reference, such as registry.example.org/team/stoic:v1.2.3")
	flags.BoolVar(&o.insecure, "insecure", false, "push over plain HTTP")
	flags.BoolVar(&o.sbom, "sbom", false, "write an SBOM in SPDX 2.3 for each platform")
	flags.StringVar(&o.facts.Version, "version", "", "version in the program and its label (default: git describe)")
	flags.StringVar(&o.facts.Revision, "revision", "", "commit that the label names (default: that of the sources)")
	flags.StringVar(&o.facts.Source, "source", "", "address of the repository that the label names")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("found %q, must be flags alone", flags.Arg(0))
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	if err := o.facts.complete(ctx, o.root, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	platforms, err := parsePlatforms(o.platforms)
	if err != nil {
		return err
	}
	built, err := build(ctx, o.root, o.facts, platforms)
	if err != nil {
		return err
	}
	if err := built.write(o.out); err != nil {
		return err
	}
	if o.sbom {
		if err := built.writeSBOMs(o.out, o.facts); err != nil {
			return err
		}
	}
	digest, err := built.index.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest of the index: %w", err)
	}
	if o.push != "" {
		if err := built.push(ctx, o.push, o.insecure); err != nil {
			return err
		}
		fmt.Fprintf(errOut, "pushed %s\n", o.push)
	}
	fmt.Fprintf(errOut, "%s, version %s, %s\n", o.out, o.facts.Version, strings.Join(names(platforms), " "))
	fmt.Fprintln(out, digest)
	return nil
}

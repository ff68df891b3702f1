// Command crd writes CustomResourceDefinitions from the Go types of a package of this module.
//
//	go run ./schema/crd                      write those of the training jobs
//	go run ./schema/crd -check               compare; exit 1 and say where if anything differs
//	go run ./schema/crd -types ./examples/operators/foobar -o examples/operators/foobar/deploy/crd
//	                                         write those of another operator
//
// It works in three steps; docs/decisions/0002-crd-generator.md describes them:
//
//	generate   controller-gen reads the types and their markers (kinds.TFJobObject and so on); see package generate, which
//	           `stoic crd generate` calls for packages of any module
//	shape      edits names, descriptions, pod templates and columns for publication; at the same time it makes
//	           a CRD that takes anything, for tests
//	write      writes YAML, sorted, under a header; or compares with the files that exist
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"stoic/cli/checkout"
	"stoic/schema/crd/generate"
)

func main() {
	var run settings
	flag.StringVar(&run.types, "types", "./training/kinds", "package of the Go types")
	flag.StringVar(&run.crds, "o", "deploy/crd", "directory for the CRDs that are installed, one file per kind")
	flag.StringVar(&run.fixtures, "fixtures", "test/fixtures", "directory for the other shapes, which tests use")
	flag.StringVar(&run.infix, "infix", "", "what follows the plural in the names of fixtures, such as a version")
	flag.BoolVar(&run.check, "check", false, "write nothing; exit 1 if a file is not what would be written")
	flag.Parse()

	if err := run.do(); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

type settings struct {
	types          string
	crds, fixtures string
	infix          string
	check          bool
}

var errDrift = errors.New("generated files are out of date: run `make generate`")

func (s settings) do() error {
	ctx := context.Background()
	engine, err := checkout.Find(ctx, "", ".")
	if err != nil {
		return err
	}
	program, err := checkout.Tool(ctx, engine, "controller-gen")
	if err != nil {
		return err
	}
	generated, err := generate.CRDs(ctx, program, ".", s.types)
	if err != nil {
		return err
	}
	files, err := render(generated, s)
	if err != nil {
		return err
	}
	if s.check {
		return compare(files)
	}
	return write(files)
}

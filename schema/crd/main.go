// Command crd writes the CustomResourceDefinitions of this project from the Go types of package schema.
//
//	go run ./schema/crd -o deploy/crd           write
//	go run ./schema/crd -o deploy/crd -check    compare; exit 1 and say where if anything differs
//
// It goes in three steps, told in docs/decisions/0002-crd-generator.md:
//
//	generate   controller-gen reads the types and their markers (schema.TFJobObject and so on)
//	shape      names, descriptions, pod templates and columns are made what we want to publish;
//	           other shapes of the same schema, for tests, are made at the same time
//	write      YAML, sorted, under a header; or the comparison with what is there
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	var run settings
	flag.StringVar(&run.crds, "o", "deploy/crd", "directory for the CRDs that are installed, one file per kind")
	flag.StringVar(&run.fixtures, "fixtures", "test/fixtures", "directory for the other shapes, which tests use")
	flag.BoolVar(&run.check, "check", false, "write nothing; exit 1 if a file is not what would be written")
	flag.Parse()

	if err := run.do(); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

type settings struct {
	crds, fixtures string
	check          bool
}

var errDrift = errors.New("generated files are out of date: run `make generate`")

func (s settings) do() error {
	generated, err := generate()
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

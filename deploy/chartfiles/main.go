// Command chartfiles writes the files of the Helm chart that are generated from others: Helm reads no file from outside a chart.
//
//	go run ./deploy/chartfiles          writes them
//	go run ./deploy/chartfiles -check   lists those that are not as they would be written, and exits with 1
//
//	crd-files/               from deploy/crd and other versions of a kind: what follows the names of a CRD;
//	                         from deploy/components: the versions that a CRD gets beside the stored one
//	files/permissions.yaml   from deploy/rbac and deploy/*/rbac.yaml: the rules of each role
//	README.md                from the comments of values.yaml
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"stoic/docs/generated"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	check := flag.Bool("check", false, "write nothing; fail if a file is not as it would be written")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "chartfiles:", err)
		os.Exit(1)
	}
}

// file is a generated file, by its path in the chart.
type file struct {
	path string
	text []byte
}

var errDrift = errors.New("generated files are out of date: run `make generate`")

func run(root string, check bool) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	chart := filepath.Join(root, "deploy", "chart")
	all := map[string][]byte{}
	for _, f := range files {
		all[filepath.Join(chart, f.path)] = f.text
	}
	stale, err := generated.Update(all, check)
	if err != nil {
		return err
	}
	orphans, err := unlisted(chart, files)
	if err != nil {
		return err
	}
	if check {
		for _, path := range stale {
			fmt.Fprintln(os.Stderr, "differs:", path)
		}
		for _, path := range orphans {
			fmt.Fprintln(os.Stderr, "not generated:", path)
		}
		if len(stale)+len(orphans) > 0 {
			return errDrift
		}
		return nil
	}
	for _, path := range orphans {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove a CRD that is no more: %w", err)
		}
	}
	return nil
}

func generate(root string) ([]file, error) {
	files, err := crds(root)
	if err != nil {
		return nil, err
	}
	permissions, err := permissions(root)
	if err != nil {
		return nil, err
	}
	readme, err := readme(root)
	if err != nil {
		return nil, err
	}
	return append(files, permissions, readme), nil
}

// unlisted returns CRDs in the chart that nothing is generated from: those of removed kinds.
func unlisted(chart string, files []file) (paths []string, err error) {
	there, err := filepath.Glob(filepath.Join(chart, "crd-files", "*"))
	if err != nil {
		return nil, fmt.Errorf("list the CRDs of the chart: %w", err)
	}
	for _, path := range there {
		if !slices.ContainsFunc(files, func(f file) bool { return filepath.Join(chart, f.path) == path }) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

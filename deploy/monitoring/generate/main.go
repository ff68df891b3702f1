// Generate writes the rules, the dashboards and the pages about them that follow from package monitoring.
//
//	go run ./deploy/monitoring/generate                     writes them
//	go run ./deploy/monitoring/generate -check              lists those that are not as they would be written, and exits with 1
//	go run ./deploy/monitoring/generate -runbooks ADDRESS/  lets alerts lead to runbooks there
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stoic/deploy/monitoring"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	check := flag.Bool("check", false, "write nothing; fail if a file is not as it would be written")
	runbooks := flag.String("runbooks", monitoring.Runbooks, "the address of the folder with the runbooks, with a slash at its end")
	flag.Parse()
	if err := run(*root, *runbooks, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run makes the files and writes those that differ, or lists them.
func run(root, runbooks string, check bool) error {
	files, err := monitoring.Files(runbooks)
	if err != nil {
		return err
	}
	var stale []string
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		there, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read a file: %w", err)
		}
		if bytes.Equal(there, f.Text) {
			continue
		}
		stale = append(stale, f.Path)
		if check {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(path, f.Text, 0o644); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
	}
	if check && len(stale) > 0 {
		return fmt.Errorf("not as package monitoring says; run `make generate`:\n  %s", strings.Join(stale, "\n  "))
	}
	return nil
}

// Generate writes the rules, the dashboards and the pages about them that follow from package monitoring.
//
//	go run ./deploy/monitoring/generate                     writes them
//	go run ./deploy/monitoring/generate -check              lists those that are not as they would be written, and exits with 1
//	go run ./deploy/monitoring/generate -runbooks ADDRESS/  lets alerts lead to runbooks there
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stoic/deploy/monitoring"
	"stoic/docs/generated"
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
	all := map[string][]byte{}
	for _, f := range files {
		all[filepath.Join(root, f.Path)] = f.Text
	}
	stale, err := generated.Update(all, check)
	if err != nil {
		return err
	}
	if check && len(stale) > 0 {
		return fmt.Errorf("not as package monitoring says; run `make generate`:\n  %s", strings.Join(stale, "\n  "))
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"stoic/test/bench/report"
)

// draw draws the plots of a report, and writes its tables into a page if the options name one.
func draw(o options, out io.Writer) error {
	r, err := report.Read(o.plots)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fmt.Errorf("make a folder for the plots: %w", err)
	}
	for _, f := range r.Charts() {
		file := filepath.Join(o.dir, f.Name)
		if err := os.WriteFile(file, f.Chart.SVG(), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
		fmt.Fprintln(out, file)
	}
	if o.page == "" {
		return nil
	}
	return r.WritePage(o.page, o.plots, o.dir)
}

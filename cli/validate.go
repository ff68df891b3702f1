package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// exitError ends the program with a code of its own. Without err it ends without a word: all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }
func (e *exitError) ExitCode() int { return e.code }

// validateFlags are the flags of validate.
type validateFlags struct {
	files       []string
	recursive   bool
	output      string
	warnAsError bool
}

func newValidateCommand() *cobra.Command {
	var flags validateFlags
	cmd := &cobra.Command{
		Use:   "validate [-f] FILE|DIR|-...",
		Short: "Check job manifests, without a cluster",
		Long: `Validate reads manifests and tells everything that would keep the operator from running them, with file, line
and column, in the words that the operator itself would use. It needs no cluster.

Objects of other kinds are skipped. Unknown fields are warnings: the job would run without them.

Exit code: 0 nothing wrong, 1 something is wrong with a document, 2 a file could not be read or the call was wrong.`,
		Example: `  # Check one manifest, or all manifests in a folder and below
  stoic validate -f job.yaml
  stoic validate -R manifests/

  # Check what a template renders to, for a program to read
  helm template ./chart | stoic validate -o json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.files = append(slices.Clone(flags.files), args...)
			return validate(flags, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringSliceVarP(&flags.files, "filename", "f", nil, "a file, a folder, or - for standard input; may be given more than once")
	cmd.Flags().BoolVarP(&flags.recursive, "recursive", "R", false, "also look into the folders of a folder")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "text", `"text", or "json" for programs`)
	cmd.Flags().BoolVar(&flags.warnAsError, "warn-as-error", false, "exit with 1 on warnings, too")
	return cmd
}

// validate checks every document of every file, and goes on after a file that it cannot read.
func validate(flags validateFlags, in io.Reader, out io.Writer) error {
	printers := map[string]func(*report, io.Writer) error{"text": (*report).text, "json": (*report).json}
	printer, ok := printers[flags.output]
	if !ok {
		return &usageError{fmt.Errorf(`--output: found %q, must be "text" or "json"`, flags.output)}
	}
	if len(flags.files) == 0 {
		return &usageError{errors.New("nothing to check: name a file or a folder, or - for standard input")}
	}
	var r report
	sources, unreadable := sourcesOf(flags.files, flags.recursive)
	for _, s := range sources {
		content, err := s.read(in)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		r.source(s.name, content)
	}
	if err := printer(&r, out); err != nil {
		return err
	}
	switch {
	case len(unreadable) > 0:
		return &exitError{code: 2, err: errors.Join(unreadable...)}
	case r.Summary.Errors > 0, flags.warnAsError && r.Summary.Warnings > 0:
		return &exitError{code: 1}
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs the program and returns its exit code. Args[0] decides what the program is called: as manager (the
// name in the image that this operator replaces) it is the controller command.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if name == "manager" {
		args = append([]string{args[0], "controller"}, args[1:]...)
	}
	began := false
	root := newRoot(name, func() { began = true })
	root.SetArgs(args[1:])
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)

	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	code := 1
	var coded interface{ ExitCode() int }
	switch {
	case errors.As(err, &coded):
		code = coded.ExitCode()
	case !began:
		code = 2
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(errOut, "error: %s\n", text)
		if code == 2 && !began {
			fmt.Fprintf(errOut, "See '%s --help'.\n", called.CommandPath())
		}
	}
	return code
}

// Commands returns the tree of all commands, to be looked at and not to be run.
func Commands() *cobra.Command { return newRoot("stoic", func() {}) }

func newRoot(name string, began func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoic",
		Short: "Runs distributed training jobs; no malformed object can upset it",
		Long: `Stoic runs distributed training jobs of the kubeflow.org/v1 API on Kubernetes.
A malformed object is told what is wrong with it, and disturbs nobody else.`,
		Example: `  # Try it: a real control plane on this machine, the operator and some jobs
  stoic up

  # Check manifests before you apply them
  stoic validate -f job.yaml`,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRun: func(*cobra.Command, []string) { began() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
		// No Args: then cobra itself refuses unknown commands, with a suggestion.
	}
	if name == "kubectl-stoic" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl stoic"}
	}
	root.AddCommand(newControllerCommand(), newValidateCommand(), newUpCommand(), newVersionCommand())
	return root
}

// usageError is a call that cannot work as it was made: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) ExitCode() int { return 2 }

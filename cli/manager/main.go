package manager

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
)

// Main runs the operator's program and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	return command.Run(newRoot(), withoutName(args), in, out, errOut)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "stoic",
		Short: "Runs distributed training jobs on Kubernetes",
		Long: `Stoic runs distributed training jobs of the kubeflow.org/v1 API on Kubernetes. This is the operator's program, which the
image holds; cmd/stoic is the command line for users.`,
		Example: `  # In a pod
  stoic controller --leader-elect`,
	}
	root.AddCommand(NewController(), NewWebhook(), command.NewVersion())
	return root
}

// withoutName returns the arguments after the program's name. Called as manager, which is the name in the image that this operator replaces,
// the program is the controller command.
func withoutName(args []string) []string {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if name != "manager" {
		return args[1:]
	}
	if len(args) > 1 && args[1] == "controller" {
		return args[1:]
	}
	return append([]string{"controller"}, doubleDashed(args[1:])...)
}

// doubleDashed writes -leader-elect as --leader-elect: manager accepted both.
func doubleDashed(args []string) []string {
	written := slices.Clone(args)
	for i, a := range written {
		if len(a) > 2 && a[0] == '-' && a[1] >= 'a' && a[1] <= 'z' {
			written[i] = "-" + a
		}
	}
	return written
}

package cli

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
	"stoic/cli/manager"
)

// Main runs the command line and returns its exit code. Args[0] decides the name of the program: it is also a plugin of kubectl.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	return command.Run(newRoot(name), args[1:], in, out, errOut)
}

// Commands returns the tree of all commands, for inspection only: they must not be run.
func Commands() *cobra.Command { return command.Inspect(newRoot("stoic")) }

func newRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoic",
		Short: "Runs distributed training jobs, whatever malformed objects there are",
		Long: `Stoic runs distributed training jobs of the kubeflow.org/v1 API on Kubernetes.
Stoic reports what is wrong with a malformed object to its author. Other objects are not affected.`,
		Example: `  # Try it: a real control plane on this machine, the operator and some jobs
  stoic up

  # Check manifests before you apply them
  stoic validate -f job.yaml`,
		// Neither Run nor Args: then cobra itself refuses unknown commands, with a suggestion.
	}
	webhook := manager.NewWebhook()
	webhook.AddCommand(newCertificateCommand())
	root.AddCommand(manager.NewController(), newValidateCommand(), newExplainCommand(), newConvertCommand(), newCRDCommand(), newInitCommand(),
		newUpCommand(), webhook, newMigrateCommand(), command.NewVersion())
	if name == "kubectl-stoic" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl stoic"}
		asPlugin(root)
	}
	return root
}

// asPlugin rewrites the examples of a command, and of those below it, to what a user of the plugin types.
func asPlugin(c *cobra.Command) {
	c.Example = strings.ReplaceAll(c.Example, "stoic ", "kubectl stoic ")
	c.Long = asCalled(c.Root(), c.Long)
	for _, below := range c.Commands() {
		asPlugin(below)
	}
}

// asCalled rewrites the commands in a text to the form in which they are called here.
func asCalled(root *cobra.Command, text string) string {
	if root.CommandPath() == root.Name() {
		return text
	}
	for _, c := range root.Commands() {
		text = strings.ReplaceAll(text, root.Name()+" "+c.Name(), c.CommandPath())
	}
	return text
}

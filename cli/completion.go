package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"stoic/cli/command"
)

// completeContexts offers the contexts of the kubeconfig that the command would read.
func (c *connection) completeContexts(*cobra.Command, []string, string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	config, err := c.rules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for name := range config.Contexts {
		found = append(found, name)
	}
	slices.Sort(found)
	return found, cobra.ShellCompDirectiveNoFileComp
}

// complete registers completions for the flags that register and registerServer add.
func (c *connection) complete(cmd *cobra.Command) {
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"context": c.completeContexts, "namespace": cobra.NoFileCompletions, "request-timeout": cobra.NoFileCompletions})
}

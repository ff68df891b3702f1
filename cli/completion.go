package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/training/kinds"
)

// completeFlags registers completions for the values of flags that have no other completion. The command must define the flags.
func completeFlags(cmd *cobra.Command, by map[string]cobra.CompletionFunc) {
	for name, complete := range by {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // it fails for other flags alone
	}
}

// oneOf offers these values, and no files.
func oneOf(values ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeKinds completes the last of several names of kinds, separated by commas.
func completeKinds(_ *cobra.Command, _ []string, begun string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	for _, kind := range kinds.All() {
		if name := before + kind.Name; !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

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
	completeFlags(cmd, map[string]cobra.CompletionFunc{"context": c.completeContexts, "namespace": cobra.NoFileCompletions, "request-timeout": cobra.NoFileCompletions})
}

// completeLog registers completions for the flags of program.LogFlags.
func completeLog(cmd *cobra.Command) {
	completeFlags(cmd, map[string]cobra.CompletionFunc{"zap-log-level": oneOf("debug", "info", "warn", "error"), "zap-encoder": oneOf("json", "console")})
}

// completeCommands offers the subcommands of the commands in args.
func completeCommands(cmd *cobra.Command, args []string, begun string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, below := range about.Commands() {
		if below.IsAvailableCommand() && strings.HasPrefix(below.Name(), begun) {
			found = append(found, cobra.CompletionWithDesc(below.Name(), below.Short))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// CompleteFlags registers completions for the values of flags that have no other completion. The command must define the flags.
func CompleteFlags(cmd *cobra.Command, by map[string]cobra.CompletionFunc) {
	for name, complete := range by {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // it fails for other flags alone
	}
}

// OneOf offers these values, and no files.
func OneOf(values ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// CompleteLog registers completions for the flags of program.LogFlags.
func CompleteLog(cmd *cobra.Command) {
	CompleteFlags(cmd, map[string]cobra.CompletionFunc{"zap-log-level": OneOf("debug", "info", "warn", "error"), "zap-encoder": OneOf("json", "console")})
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

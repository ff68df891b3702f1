package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp returns a help command that fails on unknown commands, which cobra's own does not.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Print the help of a command",

		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 { // cobra itself rejects unknown commands only at the root
				about.SuggestionsMinimumDistance = 2
				return RefuseUnknown(about, rest)
			}
			if err != nil {
				return UsageError(err)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// refuseOtherShells makes a misspelt shell an error: cobra prints help with exit code 0, which would be written to the file meant for the
// completion.
func refuseOtherShells(completion *cobra.Command) {
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return UsageError(fmt.Errorf("found shell %q, must be bash, fish, powershell or zsh", args[0]))
		}
		return cmd.Help()
	}
}

// RefuseUnknown makes a misspelt subcommand an error: cobra does so only for the root.
func RefuseUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t")
	}
	return UsageError(errors.New(text))
}

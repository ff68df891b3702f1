package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"stoic/controller/program"
)

// Version of the program. It is set by the linker: -X stoic/cli/command.Version=v1.2.3.
var Version = "dev"

// NewVersion returns the command that prints what the program is.
func NewVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print what this binary is",
		Example: "  stoic version\n  stoic version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := program.BuildOf(Version)
			switch output {
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(b)
			case "":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "stoic %s (%s, %s)\n", b.Version, b.Go, b.Platform)
				return err
			}
			return UsageError(fmt.Errorf("--output: found %q, must be \"json\" or be left out", output))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", `"json" for programs`)
	CompleteFlags(cmd, map[string]cobra.CompletionFunc{"output": OneOf("json")})
	return cmd
}

package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"stoic/controller/program"
)

// version is set by the linker: -X stoic/cli.version=v1.2.3.
var version = "dev"

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print what this binary is",
		Example: "  stoic version\n  stoic version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := program.BuildOf(version)
			switch output {
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(b)
			case "":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "stoic %s (%s, %s)\n", b.Version, b.Go, b.Platform)
				return err
			}
			return usageError(fmt.Errorf("--output: found %q, must be \"json\" or be left out", output))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", `"json" for programs`)
	completeFlags(cmd, map[string]cobra.CompletionFunc{"output": oneOf("json")})
	return cmd
}

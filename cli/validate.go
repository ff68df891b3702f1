package cli

import "github.com/spf13/cobra"

func newValidateCommand() *cobra.Command { return &cobra.Command{Use: "validate"} }

package manager

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/training/kinds"
)

// CompleteKinds completes the last of several names of kinds, separated by commas.
func CompleteKinds(_ *cobra.Command, _ []string, begun string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	for _, kind := range kinds.All() {
		if name := before + kind.Name; !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

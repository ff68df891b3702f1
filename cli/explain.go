package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/schema"
	"stoic/training/kinds"
)

func newExplainCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain [PATH|CODE]",
		Short: "Say what a field of a job is, or what a code of a problem means",
		Long: `Explain a field: what it is, which values it takes, what the operator does without it, and the fields below it. A
path is that of kubectl explain, or one out of a message: it may have names of replica types and indices, and may
leave them out; it begins with the kind, in any spelling, or with spec.

Or explain a code of a problem: what it means, what to do, and a manifest that gets it.

Without an argument it lists the kinds and the codes. It needs no cluster.`,
		Example: `  # What the operator does with a field, and without it
  stoic explain tfjob.spec.runPolicy.cleanPodPolicy

  # A part of a job, and what is below it
  stoic explain pytorchjob.spec.elasticPolicy

  # The place that a message speaks of
  stoic explain 'spec.tfReplicaSpecs.Worker.template.spec.containers[0].args'

  # What a code means, with an example
  stoic explain MisplacedField`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := explain(args, recursive)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "list the fields below those below, too, without a word on each")
	return cmd
}

func explain(args []string, recursive bool) (string, error) {
	if len(args) == 0 {
		return topics(), nil
	}
	for _, code := range schema.Codes() {
		if strings.EqualFold(args[0], string(code)) {
			return explainCode(code)
		}
	}
	manuals, err := readManuals()
	if err != nil {
		return "", err
	}
	at, err := lookUp(manuals, strings.TrimSuffix(args[0], ":"))
	if err != nil {
		return "", usageError(err)
	}
	return at.print(recursive), nil
}

// topics lists what can be explained.
func topics() string {
	var b strings.Builder
	b.WriteString("KINDS:\n")
	for _, kind := range kinds.All() {
		fmt.Fprintf(&b, "  %-20s stoic explain %s\n", kind.Name, kind.Singular)
	}
	b.WriteString("\nCODES OF PROBLEMS:\n")
	for _, code := range schema.Codes() {
		fmt.Fprintf(&b, "  %-20s %s\n", code, code.Meaning())
	}
	return b.String()
}

// completeTopic offers codes and kinds, and then one level of a path at a time.
func completeTopic(_ *cobra.Command, args []string, begun string) (found []string, directive cobra.ShellCompDirective) {
	directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	offer := func(word, about string) {
		if strings.HasPrefix(word, begun) {
			found = append(found, cobra.CompletionWithDesc(word, about))
		}
	}
	end := strings.LastIndexByte(begun, '.')
	if end < 0 {
		for _, kind := range kinds.All() {
			offer(kind.Singular, "fields of "+kind.Name)
		}
		if len(found) > 0 {
			directive |= cobra.ShellCompDirectiveNoSpace // a point comes next
		}
		for _, code := range schema.Codes() {
			offer(string(code), code.Meaning())
		}
		return found, directive
	}
	manuals, err := readManuals()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	at, err := lookUp(manuals, begun[:end])
	if err != nil {
		return nil, directive
	}
	for _, key := range at.keys() {
		offer(begun[:end+1]+key, "")
	}
	below := at.field.below()
	for _, name := range below.names() {
		offer(begun[:end+1]+name, below.Properties[name].Description)
	}
	slices.Sort(found)
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

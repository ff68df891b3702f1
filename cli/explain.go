package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
	"stoic/schema"
	"stoic/schema/crd/check"
	"stoic/training"
	"stoic/training/kinds"
)

func newExplainCommand() *cobra.Command {
	var recursive bool
	var version string
	cmd := &cobra.Command{
		Use:   "explain [PATH|CODE]",
		Short: "Say what a field of a job is, or what a code of a problem means",
		Long: `Explain a field: what it is, which values it takes, what the operator does without it, and the fields below it. A
path is that of kubectl explain, or one out of a message: it may have names of replica types and indices, and may
leave them out; it begins with the kind, in any spelling, or with spec.

Or explain a code of a problem: what it means, what to do, and a manifest that gets it. The codes of "stoic crd check"
are explained, too.

Of a kind with several versions the first one that has the field is explained; --api-version chooses another.

Without an argument it lists the kinds and the codes. It needs no cluster.`,
		Example: `  # What the operator does with a field, and without it
  stoic explain tfjob.spec.runPolicy.cleanPodPolicy

  # A part of a job, and what is below it
  stoic explain pytorchjob.spec.elasticPolicy

  # The place that a message speaks of
  stoic explain 'spec.tfReplicaSpecs.Worker.template.spec.containers[0].args'

  # A field of another version
  stoic explain spec.runPolicy --api-version=kubeflow.org/v2beta1

  # What a code means, with an example
  stoic explain MisplacedField`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := explain(args, version, recursive)
			if err != nil {
				return &command.ExitError{Code: command.CodeOf(err), Err: errors.New(asCalled(cmd.Root(), err.Error()))}
			}
			_, err = io.WriteString(cmd.OutOrStdout(), asCalled(cmd.Root(), text))
			return err
		},
	}
	cmd.Flags().StringVar(&version, apiVersionFlag, "", "group and version of the kind that is meant, such as kubeflow.org/v2beta1")
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{apiVersionFlag: command.OneOf(apiVersions(kinds.Served())...)})
	cmd.Flags().BoolVar(&recursive, "recursive", false, "list the fields below those below, too, without a word on each")
	return cmd
}

const apiVersionFlag = "api-version"

// apiVersions returns those of the kinds, each once.
func apiVersions(of []*training.Kind) (all []string) {
	for _, kind := range of {
		if !slices.Contains(all, kind.APIVersion()) {
			all = append(all, kind.APIVersion())
		}
	}
	return all
}

func explain(args []string, version string, recursive bool) (string, error) {
	if known := apiVersions(kinds.Served()); version != "" && !slices.Contains(known, version) {
		return "", command.UsageError(fmt.Errorf("--%s: found %s, must be one of %s; %s", apiVersionFlag, schema.Quote(version), strings.Join(known, ", "),
			schema.DidYouMean(version, known, "leave it out for the first that has the field")))
	}
	if len(args) == 0 {
		return topics(), nil
	}
	for _, code := range schema.Codes() {
		if strings.EqualFold(args[0], string(code)) {
			return explainCode(code)
		}
	}
	for _, topic := range check.Topics() {
		if strings.EqualFold(args[0], string(topic.Code)) {
			return explainTopic(topic), nil
		}
	}
	path := strings.TrimSuffix(args[0], ":")
	manuals, err := readManuals(path, version)
	if err != nil {
		return "", err
	}
	at, err := lookUp(manuals, path)
	if err != nil {
		return "", command.UsageError(err)
	}
	return at.print(recursive), nil
}

// topics lists what can be explained.
func topics() string {
	var b strings.Builder
	b.WriteString("KINDS:\n")
	for _, kind := range kinds.Served() {
		fmt.Fprintf(&b, "  %-20s stoic explain %s\n", strings.TrimSuffix(kind.Name+" "+kind.Version, " v1"), kind.Singular+versionFlag(kind))
	}
	b.WriteString("\nCODES OF PROBLEMS:\n")
	for _, code := range schema.Codes() {
		fmt.Fprintf(&b, "  %-20s %s\n", code, code.Meaning())
	}
	b.WriteString("\nCODES OF PROBLEMS OF DEFINITIONS (stoic crd check):\n")
	for _, topic := range check.Topics() {
		first, _, _ := strings.Cut(topic.Meaning, ": ")
		fmt.Fprintf(&b, "  %-20s %s.\n", topic.Code, strings.TrimSuffix(first, "."))
	}
	return b.String()
}

// completeTopic offers codes and kinds, and then one level of a path at a time.
func completeTopic(cmd *cobra.Command, args []string, begun string) (found []string, directive cobra.ShellCompDirective) {
	directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	offer := func(word, about string) {
		if strings.HasPrefix(word, begun) && !slices.ContainsFunc(found, func(offered string) bool { return offered == word || strings.HasPrefix(offered, word+"\t") }) {
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
		for _, topic := range check.Topics() {
			offer(string(topic.Code), topic.Meaning)
		}
		return found, directive
	}
	version, _ := cmd.Flags().GetString(apiVersionFlag)
	manuals, err := readManuals(begun, version)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	anywhere := false
	for _, of := range byVersion(manuals) {
		at, err := lookUpIn(of, begun[:end])
		if err != nil {
			continue
		}
		anywhere = true
		for _, key := range at.keys() {
			offer(begun[:end+1]+key, "")
		}
		below := at.field.below()
		for _, name := range below.names() {
			offer(begun[:end+1]+name, below.Properties[name].Description)
		}
	}
	if !anywhere {
		return nil, directive
	}
	slices.Sort(found)
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

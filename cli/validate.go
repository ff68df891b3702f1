package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
	"stoic/cli/manager"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	sourceFlags
	output      string
	ignore      []string
	ignored     []schema.Code // what ignore names; set by check
	warnAsError bool
	crds        []string
	live        bool
	server      bool
	verbose     bool
	kinds       []string
	cluster     connection
}

func newValidateCommand() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate [-f] FILE|DIR|-... | --live",
		Short: "Check job manifests, without a cluster, or the jobs in one",
		Long: `Validate reads manifests and says what would keep jobs from running, with file, line and column, in the words of the
operator: what the API server would refuse by the CustomResourceDefinition of the kind, and what the operator would. It
needs no cluster, so it does not see what only one knows, such as quotas, admission policies and most rules for pods.

Objects of other kinds are skipped; -v lists them. Jobs in Katib's Experiments, AppWrappers, Argo Workflows and ConfigMaps
are found and checked, except on lines with placeholders. Unknown fields are warnings: the job would run without them.
Files in a folder that are templates, and no YAML until they are rendered, are counted and skipped.

With --crd it checks the custom resources of any other operator, too, by the schemas in its CustomResourceDefinitions,
in the same words. The version of an object decides which schema counts; unknown fields are warnings, as an API server
drops them. What an API server would refuse is decided by its own code, rules in CEL (x-kubernetes-validations) included.
Only the definitions of kinds that occur are read in full, and one that cannot be used ends the call with 2 after all other
objects have been checked. With -R the folders of --crd are read with theirs. Jobs are always checked as the operator does.

On standard input, Helm's comment "# Source: chart/templates/job.yaml" names the file of the documents that follow;
their lines are counted in what Helm has made of it, from the line after the comment.

With --server it also asks the API server of a cluster about the pods of each job that has no error, by a dry run, which
creates nothing and needs the right to create pods: quotas, admission policies and every rule for pods are seen then.

With --live it checks the jobs that are stored in a cluster instead: what this version of the operator would say of
them. It changes nothing and needs the right to list them. --kind and --all-namespaces go with it; --kubeconfig, --context,
--namespace and --request-timeout go with --server, too.

Exit code: 0 nothing wrong, 1 something is wrong with a document, 2 a file, a definition or the cluster could not be read,
standard input was empty or the call was wrong, 130 it was interrupted.`,
		Example: `  # Check one manifest, or all manifests in a folder and below
  stoic validate -f job.yaml
  stoic validate -R manifests/

  # Check what a template renders to, for a program to read
  helm template ./chart | stoic validate -o json -
  kubectl kustomize overlays/team-a | stoic validate -

  # Put what is wrong beside the lines of a pull request, in GitHub Actions
  stoic validate -R manifests/ -o github

  # Check the custom resources of any operator, by its CustomResourceDefinitions
  stoic validate --crd config/crd/bases -R config/samples

  # Ask a cluster, too, whether it would take the pods
  stoic validate --server -n team-a job.yaml

  # Before an upgrade: would this version refuse a job that is there?
  stoic validate --live -A`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = append(slices.Clone(f.files), args...)
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *validateFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.sourceFlags.register(flags)
	flags.StringVarP(&f.output, "output", "o", "text", `"text", "json" for programs, "github" for GitHub Actions, or "sarif" for code scanning`)
	flags.StringSliceVar(&f.ignore, "ignore", nil, "pass over problems with this `code`; may be given more than once")
	flags.BoolVar(&f.warnAsError, "warn-as-error", false, "exit with 1 on warnings, too")
	flags.StringSliceVar(&f.crds, "crd", nil, "a `file` or folder of CustomResourceDefinitions, whose objects are checked, too; may be given more than once")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list what is skipped")
	flags.BoolVar(&f.live, "live", false, "check the jobs that are stored in a cluster, instead of files")
	flags.BoolVar(&f.server, "server", false, "also ask a cluster's API server about the pods of each job, by a dry run")
	flags.StringSliceVar(&f.kinds, "kind", nil, "read this kind only; may be given more than once (default: all)")
	f.cluster.register(flags)
	_ = cmd.MarkFlagFilename("crd", "yaml", "yml", "json") // the flag is defined above
	f.cluster.complete(cmd)
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{
		"output": command.OneOf("text", "json", "github", "sarif"), "ignore": completeCodes(schema.Codes, schema.Code.Meaning), "kind": manager.CompleteKinds})
}

// completeCodes completes the last of several codes, separated by commas.
func completeCodes(all func() []schema.Code, meaning func(schema.Code) string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, code := range all() {
			found = append(found, cobra.CompletionWithDesc(before+string(code), meaning(code)))
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// check returns what is wrong with the call, before anything is read.
func (f *validateFlags) check(cmd *cobra.Command) (err error) {
	if err := f.sourceFlags.check(); err != nil {
		return err
	}
	if printerOf(f.output) == nil {
		return command.UsageError(fmt.Errorf(`--output: found %q, must be "text", "json", "github" or "sarif"`, f.output))
	}
	if f.ignored, err = codesOf(f.ignore, schema.Codes()); err != nil {
		return err
	}
	if cmd.Flags().Changed("kind") && len(f.kinds) == 0 {
		f.kinds = []string{""} // an unknown kind, so that an empty flag does not mean all
	}
	if _, err = manager.Named("--kind", f.kinds, kinds.Served()); err != nil {
		return err
	}
	given, with := f.cluster.given(cmd.Flags()), "--live or --server"
	switch {
	case len(f.kinds) > 0:
		given, with = "--kind", "--live"
	case f.cluster.everywhere:
		given, with = "--all-namespaces", "--live"
	case f.server:
		given = ""
	}
	switch {
	case f.live && (len(f.files) > 0 || f.recursive):
		return command.UsageError(errors.New("--live reads a cluster and no files: leave out the files, or --live"))
	case f.live && f.server:
		return command.UsageError(errors.New("--server is for files only: leave out either it or --live"))
	case f.live && len(f.crds) > 0:
		return command.UsageError(errors.New("--crd is for files only: leave out either it or --live"))
	case slices.Contains(f.crds, "-"):
		return command.UsageError(errors.New("--crd: names a file or a folder; standard input is for what is checked"))
	case !f.live && given != "":
		return command.UsageError(fmt.Errorf("%s: goes with %s only; files need no cluster", given, with))
	case !f.live && len(f.files) == 0:
		return command.UsageError(errors.New("nothing to check: name a file or a folder, - for standard input, or --live for a cluster"))
	}
	return nil
}

// printerOf returns the function that prints an output; nil if there is none of that name.
func printerOf(output string) func(*report, io.Writer) error {
	switch output {
	case "text":
		return (*report).text
	case "json":
		return (*report).json
	case "github":
		return (*report).github
	case "sarif":
		return (*report).sarif
	}
	return nil
}

// codesOf reads the codes that --ignore names, in any case.
func codesOf(names []string, all []schema.Code) (codes []schema.Code, err error) {
	for _, name := range names {
		i := slices.IndexFunc(all, func(c schema.Code) bool { return strings.EqualFold(string(c), strings.TrimSpace(name)) })
		if i < 0 {
			var list []string
			for _, c := range all {
				list = append(list, string(c))
			}
			return nil, command.UsageError(fmt.Errorf("--ignore: found %q, must be one of %s", name, strings.Join(list, ", ")))
		}
		codes = append(codes, all[i])
	}
	return codes, nil
}

func (f *validateFlags) run(ctx context.Context, in io.Reader, out, errOut io.Writer) (unread error) {
	defined, err := readDefinitions(ctx, f.crds, f.recursive)
	if err != nil {
		return err
	}
	r := report{ignore: f.ignored, definitions: *defined, verbose: f.verbose}
	var server *podServer
	if f.server {
		if server, err = f.newPodServer(); err != nil {
			return err
		}
		r.askAboutPods = func(kind *training.Kind, fields map[string]any) []schema.Problem {
			return server.job(ctx, kind, fields)
		}
	}
	if f.live {
		unread = f.readCluster(ctx, &r, errOut)
	} else {
		unread = f.sourceFlags.read(ctx, in, r.document)
	}
	if r.Summary.Documents == 0 && (f.live && unread != nil || errors.Is(unread, command.ErrInterrupted)) {
		return unread // a report would say that nothing is wrong
	}
	r.Notes = append(r.definitions.allNotes(f.verbose), r.Notes...)
	r.noteTemplates()
	r.printNotes(errOut)
	if err := printerOf(f.output)(&r, out); err != nil {
		return err
	}
	if bad := errors.Join(r.definitions.bad...); bad != nil && !errors.Is(unread, command.ErrInterrupted) {
		unread = &command.ExitError{Code: 2, Err: errors.Join(unread, bad)}
	}
	if server != nil && server.asked != nil && !errors.Is(unread, command.ErrInterrupted) {
		unread = &command.ExitError{Code: 2, Err: errors.Join(unread, server.asked)}
	}
	switch {
	case unread != nil:
		return unread
	case r.Summary.Errors > 0, f.warnAsError && r.Summary.Warnings > 0:
		return &command.ExitError{Code: 1}
	}
	return nil
}

// readCluster checks every job of a cluster, or of one namespace.
func (f *validateFlags) readCluster(ctx context.Context, r *report, errOut io.Writer) error {
	config, namespace, err := f.cluster.open()
	if err != nil {
		return err
	}
	l, err := newLive(config, namespace, errOut)
	if err == nil {
		l.kinds, err = manager.Named("--kind", f.kinds, kinds.Served())
	}
	if err == nil {
		r.noun = "object"
		err = l.check(ctx, r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return command.ErrInterrupted
	case err != nil:
		return &command.ExitError{Code: 2, Err: err}
	}
	return nil
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/cli/command"
	"stoic/convert/verdict"
	"stoic/schema"
	"stoic/schema/crd/check"
)

type crdCheckFlags struct {
	sourceFlags
	output  string
	ignore  []string
	ignored []schema.Code // what ignore names; set by check
	strict  bool
	against []string
	verbose bool
}

func newCRDCheckCommand() *cobra.Command {
	var f crdCheckFlags
	cmd := &cobra.Command{
		Use:   "check [-f] FILE|DIR|-...",
		Short: "Check CustomResourceDefinitions before a cluster gets them",
		Long: `Check reads CustomResourceDefinitions and tells what an API server would refuse of them, and what it accepts and hurts:
rules that keep the status of a stored object from being written, conditions without observedGeneration, lists that
server-side apply replaces whole, paths of columns and of the scale subresource that lead nowhere, versions that nothing
converts between, and more. Objects of other kinds are skipped. It needs no cluster.

With --against it tells which objects that a former definition has let through the new one would refuse, or would cut,
and leaves out the warnings that the former one gets, too.

Warnings have one line a code, with its first place and how often there are more; -v prints all, and JSON and SARIF have
all. Versions that are not served, and what is embedded from Kubernetes' own types, get no warnings. Rules are evaluated
on values that the schema allows. Files that only patch a definition, as kustomize applies them, are counted and skipped.

What an API server refuses is found by the API server's own code: types and names within schemas, rules in CEL, defaults,
and with --against the change.

"stoic explain CODE" says more about a code.

Exit code: 0 no error, 1 an error, or with --strict a warning, 2 a file could not be read or the call was wrong, 130 it was interrupted.`,
		Example: `  # Check what "stoic crd generate" has written
  stoic crd check deploy/crd

  # In CI: would this pull request break objects that are stored?
  git show main:deploy/crd/foobars.yaml > old.yaml
  stoic crd check deploy/crd/foobars.yaml --against old.yaml --strict -o github

  # The definitions of a cluster
  kubectl get crds -o yaml | stoic crd check - --ignore ListReplaced`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = append(slices.Clone(f.files), args...)
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	f.sourceFlags.register(flags)
	flags.StringVarP(&f.output, "output", "o", "text", `"text", "json" for programs, "github" for GitHub Actions, or "sarif" for code scanning`)
	flags.StringSliceVar(&f.ignore, "ignore", nil, "pass over problems with this `code`; may be given more than once")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every warning and what is skipped, and not one line a code")
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 on warnings, too")
	flags.StringSliceVar(&f.against, "against", nil, "a `file` or folder of the definitions that these take the place of; may be given more than once")
	_ = cmd.MarkFlagFilename("against", "yaml", "yml", "json") // the flag is defined above
	meaning := func(code schema.Code) string { return check.TopicOf(code).Meaning }
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"output": command.OneOf("text", "json", "github", "sarif"), "ignore": completeCodes(check.Codes, meaning)})
	return cmd
}

// check returns what is wrong with the call, before anything is read.
func (f *crdCheckFlags) check() (err error) {
	switch {
	case printerOf(f.output) == nil:
		return command.UsageError(fmt.Errorf(`--output: found %q, must be "text", "json", "github" or "sarif"`, f.output))
	case len(f.files) == 0:
		return command.UsageError(errors.New("nothing to check: name a file or a folder, or - for standard input"))
	case slices.Contains(f.against, "-"):
		return command.UsageError(errors.New("--against: names a file or a folder; standard input is for what is checked"))
	}
	if f.ignored, err = codesOf(f.ignore, check.Codes()); err != nil {
		return err
	}
	return f.sourceFlags.check()
}

// crdEntry is a CRD in a file.
type crdEntry struct {
	entry
	crd   *crdv1.CustomResourceDefinition // nil if it is malformed
	found []schema.Problem
}

func (f *crdCheckFlags) run(cmd *cobra.Command) error {
	old, err := f.readOld(cmd.Context())
	if err != nil {
		return err
	}
	r := report{ignore: f.ignored, codes: check.Codes(), verbose: f.verbose, grouped: !f.verbose}
	entries, unread := f.read(cmd.Context(), &r, cmd.InOrStdin())
	if errors.Is(unread, command.ErrInterrupted) || unread != nil && len(entries) == 0 {
		return unread // a report would say that nothing is wrong
	}
	f.compare(&r, entries, old)
	if err := askServer(cmd.Context(), entries, old); err != nil {
		return failure(cmd, err)
	}
	for _, e := range entries {
		object := checked{file: e.file, name: nameIn(e.raw)}
		r.Summary.Documents++
		for _, p := range schema.SortProblems(e.found) {
			severity := "warning"
			if check.IsError(p.Code) {
				severity = "error"
			}
			r.problem(e.entry, &object, severity, p)
		}
		r.finish(object)
	}
	r.noteTemplates()
	r.printNotes(cmd.ErrOrStderr())
	if err := printerOf(f.output)(&r, cmd.OutOrStdout()); err != nil {
		return err
	}
	switch {
	case unread != nil:
		return unread
	case r.Summary.Errors > 0, f.strict && r.Summary.Warnings > 0:
		return &command.ExitError{Code: 1}
	}
	return nil
}

// read finds the CRDs in all files, and continues after a file that it cannot read.
func (f *crdCheckFlags) read(ctx context.Context, r *report, in io.Reader) (entries []*crdEntry, err error) {
	var patches, converted []string
	unread := f.sourceFlags.read(ctx, in, func(file string, doc document) {
		parsedEntry, err := parsed(file, doc)
		if err != nil && doc.found && !bytes.Contains(doc.text, []byte("CustomResourceDefinition")) {
			r.skip(parsedEntry)
			return
		}
		r.eachParsed(parsedEntry, err, func(e entry) {
			if fields, _ := e.raw.(map[string]any); isCRD(e.raw) && isPatch(fields) {
				line, _ := e.doc.position(placeOf(e.located()))
				patches = append(patches, fmt.Sprintf("%s:%d", oneLine(file), line))
				if addsConversion(fields) {
					converted = append(converted, nameIn(e.raw).Name)
				}
				return
			}
			crd, found, is := crdIn(e.raw)
			if !is {
				r.skip(e)
				return
			}
			entries = append(entries, &crdEntry{entry: e, crd: crd, found: found})
		})
	})
	for _, e := range entries {
		if slices.Contains(converted, nameIn(e.raw).Name) {
			e.found = slices.DeleteFunc(e.found, func(p schema.Problem) bool { return p.Code == check.VersionsDiffer })
		}
	}
	if len(patches) > 0 {
		r.Notes = append(r.Notes, notePatches(patches, f.verbose)...)
	}
	if unread != nil {
		return entries, unread
	}
	if len(entries)+len(patches) == 0 && r.Summary.Errors == 0 {
		return nil, &command.ExitError{Code: 2, Err: errors.New("no CustomResourceDefinition was found")}
	}
	return entries, nil
}

// addsConversion reports whether a patch gives a definition a conversion.
func addsConversion(patch map[string]any) bool {
	spec, _ := patch["spec"].(map[string]any)
	conversion, _ := spec["conversion"].(map[string]any)
	return conversion["strategy"] == "Webhook"
}

// crdIn reads a CRD, and returns what is wrong with it as far as one file shows. Is reports whether the object is meant to be a CRD.
func crdIn(raw any) (crd *crdv1.CustomResourceDefinition, found []schema.Problem, is bool) {
	if list, ok := raw.([]any); ok && slices.ContainsFunc(list, isCRD) {
		p := listed()
		p.Code = check.RefusedByServer
		return nil, []schema.Problem{p}, true
	}
	fields, _ := raw.(map[string]any)
	if !isCRD(raw) {
		return nil, nil, false
	}
	version, _ := fields["apiVersion"].(string)
	if want := crdv1.SchemeGroupVersion.String(); version != want {
		return nil, []schema.Problem{{Code: check.RefusedByServer, Path: "apiVersion", Found: schema.Quote(version), Want: "be " + schema.Quote(want)}}, true
	}
	text, err := json.Marshal(fields)
	if err == nil {
		crd, found, err = check.Decode(text)
	}
	if err != nil {
		p := schema.Problem{Code: check.RefusedByServer, Found: "a definition that cannot be read: " + schema.Clean(err.Error(), 300)}
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			p.Path, p.Found, p.Want = schema.Clean(mismatch.Field, 400), schema.Clean(mismatch.Value, 60), "be of type "+mismatch.Type.String()
		}
		return nil, []schema.Problem{p}, true
	}
	return crd, slices.Concat(found, check.All(crd, unchanged), check.Size(fields)), true
}

// unchanged evaluates rules for package check.
func unchanged(former, now *crdv1.JSONSchemaProps, rule crdv1.ValidationRule, root, rules bool) (check.Outcome, error) {
	outcome, err := verdict.Unchanged(former, now, rule, root, rules)
	return check.Outcome(outcome), err
}

// isCRD reports whether the value is meant to be a CRD.
func isCRD(value any) bool {
	fields, _ := value.(map[string]any)
	return fields["kind"] == "CustomResourceDefinition"
}

func nameIn(raw any) name {
	fields, _ := raw.(map[string]any)
	meta, _ := fields["metadata"].(map[string]any)
	of, _ := meta["name"].(string)
	return name{Kind: "CustomResourceDefinition", Name: schema.Clean(of, 253)}
}

// readOld reads the former CRDs, by name.
func (f *crdCheckFlags) readOld(ctx context.Context) (map[string]*crdv1.CustomResourceDefinition, error) {
	former := crdCheckFlags{sourceFlags: sourceFlags{files: f.against, recursive: f.recursive, exclude: f.exclude}}
	if len(f.against) == 0 {
		return nil, nil
	}
	var r report
	entries, err := former.read(ctx, &r, nil)
	if err == nil && r.Summary.Errors > 0 {
		err = &command.ExitError{Code: 2, Err: errors.New(r.Results[0].place() + ": " + r.Results[0].Message)}
	}
	old := map[string]*crdv1.CustomResourceDefinition{}
	for _, e := range entries {
		if e.crd == nil && err == nil {
			err = &command.ExitError{Code: 2, Err: errors.New(e.found[0].String())}
		} else if e.crd != nil {
			old[e.crd.Name] = e.crd
		}
	}
	switch {
	case errors.Is(err, command.ErrInterrupted):
		return nil, err
	case err != nil:
		return nil, &command.ExitError{Code: 2, Err: fmt.Errorf("--against %s: %w", oneLine(strings.Join(f.against, ",")), err)}
	}
	return old, nil
}

// compare adds the problems of changes from the former CRDs.
func (f *crdCheckFlags) compare(r *report, entries []*crdEntry, old map[string]*crdv1.CustomResourceDefinition) {
	for _, e := range entries {
		switch {
		case e.crd == nil || len(f.against) == 0:
		case old[e.crd.Name] == nil:
			r.Notes = append(r.Notes, fmt.Sprintf("%s is in no file of --against: it is taken for a new one", schema.Clean(e.crd.Name, 253)))
		default:
			e.found = append(newIn(e.found, e.crd, old[e.crd.Name]), check.Against(e.crd, old[e.crd.Name], unchanged)...)
		}
	}
}

// newIn leaves out the warnings that the former definition gets, too.
func newIn(found []schema.Problem, crd, old *crdv1.CustomResourceDefinition) []schema.Problem {
	known := map[schema.Problem]bool{}
	for _, p := range check.All(old, unchanged) {
		p.Path = namedVersion(p.Path, old)
		known[p] = true
	}
	return slices.DeleteFunc(found, func(p schema.Problem) bool {
		p.Path = namedVersion(p.Path, crd)
		return known[p] && !check.IsError(p.Code)
	})
}

// namedVersion returns a path with the name of the version in place of its index, which may change.
func namedVersion(path string, crd *crdv1.CustomResourceDefinition) string {
	for i, version := range crd.Spec.Versions {
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("spec.versions[%d]", i)); ok {
			return "spec.versions[" + version.Name + "]" + rest
		}
	}
	return path
}

// askServer adds what the API server's code reports about the CRDs, and about the changes from former ones.
func askServer(ctx context.Context, entries []*crdEntry, old map[string]*crdv1.CustomResourceDefinition) error {
	for _, e := range entries {
		if ctx.Err() != nil {
			return command.ErrInterrupted
		}
		if e.crd == nil {
			continue
		}
		refusals, err := verdict.Definition(e.crd, old[e.crd.Name])
		if err != nil {
			return fmt.Errorf("%s: %w", oneLine(e.file), err)
		}
		e.found = append(e.found, check.Refusals(e.crd, refusals, e.found)...)
	}
	return nil
}

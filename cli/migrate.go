package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
	"stoic/controller/migration"
	"stoic/training/kinds"
)

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	dryRun, again bool
	cluster       connection
}

func newMigrateCommand() *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate KIND",
		Short: "Store all objects of a kind in the version that its CRD names, so that others can be removed",
		Long: `Migrate makes the API server store every object of a kind again, after the stored version of its CRD has changed. KIND is one
of the kinds of training jobs, or the name of any CustomResourceDefinition: foobars.example.com.

Each object gets an apply that says nothing, so that it is stored in the version in which new ones are stored; nothing else
of it changes. What could not be written is named, with the reason. Then all are listed again, and only if none is left the
old versions are taken off status.storedVersions of the CRD, which they must be before they can be removed from it. After a
StorageVersionMigration that has failed, all are written again whatever that list says.

It has the rights of the user who runs it: to get, list and patch the objects in all namespaces, to get the CRD and to patch its
status. It can be interrupted and run again: what is stored in the right version is not written twice. Let a minute pass
after a change of the CRD, until all API servers go by it.

Exit code: 0 done, or nothing to do; 1 some objects could not be written, or it failed; 2 the call was wrong; 130 it was
interrupted.`,
		Example: `  # Would it succeed?
  stoic migrate tfjob --dry-run

  # Store all TFJobs in the version that their CRD names
  stoic migrate tfjob

  # The same for the resources of any other operator
  stoic migrate foobars.example.com`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, kind := range kinds.All() {
				if len(args) == 0 {
					names = append(names, kind.Singular)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "let the API server say what would fail, and change nothing")
	flags.BoolVar(&f.again, "again", false, "write all objects, also if the CRD says that none is stored in an old version")
	f.cluster.registerServer(flags)
	f.cluster.complete(cmd)
	return cmd
}

// definitionOf returns the CRD's name for one of our kinds, however it is spelt. Any other name must have a dot, and is returned.
func definitionOf(name string) (crd string, err error) {
	var known []string
	for _, kind := range kinds.All() {
		crd := kind.Plural + "." + kind.Group
		for _, spelling := range []string{kind.Name, kind.Singular, kind.Plural, crd} {
			if strings.EqualFold(name, spelling) {
				return crd, nil
			}
		}
		known = append(known, kind.Singular)
	}
	if plural, group, ok := strings.Cut(name, "."); ok && plural != "" && group != "" && strings.ToLower(name) == name {
		return name, nil
	}
	return "", command.UsageError(fmt.Errorf("found kind %q, must be one of %s, or the name of a CRD such as foobars.example.com", name, strings.Join(known, ", ")))
}

func (f *migrateFlags) run(ctx context.Context, name string, out, errOut io.Writer) error {
	crd, err := definitionOf(name)
	if err != nil {
		return err
	}
	config, _, err := f.cluster.open()
	if err != nil {
		return err
	}
	m, err := migration.New(config, crd, "stoic-migrate", errOut)
	if err != nil {
		return err
	}
	m.DryRun, m.Again = f.dryRun, f.again
	result, err := m.Run(ctx)
	if err == nil || result.Written+result.Gone+len(result.Failed) > 0 {
		if _, err := fmt.Fprint(out, f.outcome(crd, result)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	if err != nil && ctx.Err() != nil {
		return &command.ExitError{Code: 130, Err: errors.New("interrupted; run it again for the others")}
	}
	return err
}

// outcome returns the summary of a migration.
func (f *migrateFlags) outcome(crd string, r migration.Result) string {
	if r.Nothing {
		return fmt.Sprintf("nothing to do: status.storedVersions of %s is [%s]\n", crd, r.Version)
	}
	verb, could := "written as", "could not be"
	if f.dryRun {
		verb, could = "could be written as", "could not"
	}
	text := fmt.Sprintf("%s of %s %s %s", plural(r.Written, "object"), crd, verb, r.Version)
	if r.Gone > 0 {
		text += fmt.Sprintf(", %d deleted meanwhile", r.Gone)
	}
	if len(r.Failed) > 0 {
		text += fmt.Sprintf(", %d %s", len(r.Failed), could)
	}
	return fmt.Sprintf("%s; status.storedVersions is [%s]\n", text, strings.Join(r.After, " "))
}

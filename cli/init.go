package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/checkout"
	"stoic/cli/command"
	"stoic/cli/starter"
)

func newInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Begin an operator of your own",
		Long:    "Begin something: an operator on the engine of stoic.",
		Example: "  stoic init operator --group apps.example.com --kind FooBar --fields target:string,size:int",
		Args:    command.RefuseUnknown,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newInitOperatorCommand())
	return cmd
}

type initFlags struct {
	operator       starter.Operator
	fields, folder string
}

func newInitOperatorCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "operator --group GROUP --kind KIND",
		Short: "Write a working operator into a new folder",
		Long: `Operator writes a Go module that builds, and whose tests pass, at once: types, a decision, a program, the definition of
the resource, permissions, a Deployment, unit tests, a test on a control plane on this machine, and a Makefile.

What it does is small and real: an object keeps one ConfigMap with what its spec says, and a status with conditions; a
malformed object is told what is wrong with it.

The folder must not exist, or be empty. It is written completely or not at all. It needs the go command and the sources
of stoic, which is not published: the module takes it from their folder by a replace line in go.mod.

Exit code: 0 done, 1 it failed, 2 the call was wrong, 130 it was interrupted.`,
		Example: `  # A resource with two fields, in a new folder foobar-operator
  stoic init operator --group apps.example.com --kind FooBar --fields target:string,size:int

  # Without a namespace, with a plural that is not as in English, elsewhere
  stoic init operator --group apps.example.com --kind Ananas --plural ananas-fruits --cluster --dir ~/src/ananas`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.operator.Group, "group", "", "API `group`: a domain name that you own, such as apps.example.com")
	flags.StringVar(&f.operator.Kind, "kind", "", "`kind`, such as FooBar")
	flags.StringVar(&f.operator.Version, "version", "v1alpha1", "`version` of the API")
	flags.StringVar(&f.operator.Plural, "plural", "", "the kind in lower case and in the plural (default: as in English)")
	flags.StringVar(&f.fields, "fields", "message:string", "fields of the spec, NAME:TYPE between commas; types: "+strings.Join(starter.Types(), ", "))
	flags.BoolVar(&f.operator.Cluster, "cluster", false, "its objects stand in no namespace")
	flags.StringVar(&f.folder, "dir", "", "`folder` to write (default: KIND-operator in this folder)")
	flags.StringVar(&f.operator.Module, "module", "", "path of the Go module (default: GROUP/KIND-operator)")
	registerEngine(cmd, &f.operator.Engine)
	_ = cmd.MarkFlagDirname("dir") // the flag is defined above
	none := cobra.NoFileCompletions
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"group": none, "kind": none, "plural": none, "module": none, "fields": completeFields,
		"version": command.OneOf("v1alpha1", "v1beta1", "v1")})
	return cmd
}

// completeFields offers the types after the colon of the last field.
func completeFields(_ *cobra.Command, _ []string, begun string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	colon := strings.LastIndexByte(begun, ':')
	if colon < strings.LastIndexByte(begun, ',') || colon < 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range starter.Types() {
		found = append(found, begun[:colon+1]+name)
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (f *initFlags) run(cmd *cobra.Command) (err error) {
	o := &f.operator
	if o.Fields, err = starter.ParseFields(f.fields); err != nil {
		return command.UsageError(err)
	}
	*o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return command.UsageError(err)
	}
	if f.folder == "" {
		f.folder = o.Name()
	}
	if err := vacant(f.folder); err != nil {
		return command.UsageError(fmt.Errorf("--dir: %w", err))
	}
	if o.Engine, err = checkout.Find(cmd.Context(), o.Engine, "."); err != nil {
		return command.UsageError(err)
	}
	if err := f.write(cmd); err != nil {
		return failure(cmd, err)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), f.report())
	return err
}

// vacant returns an error unless the folder is absent or empty, and its parent exists.
func vacant(folder string) error {
	parent, err := os.Stat(filepath.Dir(filepath.Clean(folder)))
	if err != nil || !parent.IsDir() {
		return fmt.Errorf("found %s, must be in a folder that exists", folder)
	}
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(folder); err == nil {
			return fmt.Errorf("found %s, a symbolic link that leads nowhere, must be a new or an empty folder", folder)
		}
		return nil
	case err != nil:
		return fmt.Errorf("found %s, must be a new or an empty folder: %w", folder, err)
	case len(entries) > 0:
		return fmt.Errorf("found %s with %s in it, must be a new or an empty folder", folder, plural(len(entries), "file"))
	}
	return nil
}

// write makes the files in a temporary folder beside the new one, and renames it when they are complete. If the folder exists (the user
// may be in it), the files are made in a folder within it, and moved.
func (f *initFlags) write(cmd *cobra.Command) error {
	folder, err := filepath.Abs(f.folder)
	if err != nil {
		return err
	}
	in := filepath.Dir(folder)
	existing, err := filepath.EvalSymlinks(folder)
	if err == nil {
		in = existing
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp(in, "."+filepath.Base(folder)+"-")
	if err != nil {
		return fmt.Errorf("make a folder to write in: %w", err)
	}
	defer os.RemoveAll(scratch) // after the renaming there is none
	if err := f.fill(cmd, scratch); err != nil {
		return err
	}
	if existing != "" {
		return moveAll(scratch, existing)
	}
	if err := os.Chmod(scratch, 0o755); err != nil {
		return err
	}
	return os.Rename(scratch, folder)
}

func (f *initFlags) fill(cmd *cobra.Command, folder string) error {
	files, err := f.operator.Files()
	if err != nil {
		return err
	}
	if err := writeAll(folder, files); err != nil {
		return err
	}
	crds, err := generatedCRDs(cmd, f.operator.Engine, folder, ".")
	if err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	return writeAll(filepath.Join(folder, "deploy", "crd"), crds)
}

// moveAll moves everything from one folder into another, or nothing. It replaces no existing file.
func moveAll(from, to string) (err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var moved []string
	for _, entry := range entries {
		target := filepath.Join(to, entry.Name())
		if _, err = os.Lstat(target); err == nil {
			err = fmt.Errorf("found %s, which was not there before", target)
		} else if errors.Is(err, os.ErrNotExist) {
			err = os.Rename(filepath.Join(from, entry.Name()), target)
		}
		if err != nil {
			break
		}
		moved = append(moved, target)
	}
	if err == nil {
		return nil
	}
	for _, target := range moved {
		err = errors.Join(err, os.RemoveAll(target))
	}
	return err
}

func writeAll(folder string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(filepath.Join(folder, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// report says what was written and what comes next. The lines after a dollar sign can be typed.
func (f *initFlags) report() string {
	o := f.operator
	return fmt.Sprintf(`%s serves %s (%s.%s/%s). types.go says what one is, decide.go what is done for it.

stoic is not published: go.mod takes it from %s.

  $ cd %s
  $ go vet ./...
  $ go test -short ./...
  $ go test ./...    # also on a control plane on this machine; the first run compiles it: some minutes
  $ go tool stoic crd generate . -o deploy/crd    # after a change of types.go
  $ go tool stoic crd check deploy/crd

make alone lists these and more.
`, f.folder, o.Kind, o.Plural, o.Group, o.Version, o.Engine, quoted(f.folder))
}

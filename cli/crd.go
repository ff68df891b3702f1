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
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/cli/checkout"
	"stoic/cli/command"
	"stoic/schema/crd/generate"
)

// newCRDCommand is for users who write operators: it generates or checks a CRD before any cluster gets it.
func newCRDCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crd",
		Short: "Write a CustomResourceDefinition from Go types, or check one",
		Long: `For authors of operators: write a CustomResourceDefinition from the Go types of a package, and check one before a
cluster gets it. Neither needs a cluster.`,
		Example: `  stoic crd generate ./api -o deploy/crd
  stoic crd check deploy/crd`,
		Args: command.RefuseUnknown,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newCRDGenerateCommand(), newCRDCheckCommand())
	return cmd
}

type generateFlags struct {
	folder, engine string
	check          bool
}

func newCRDGenerateCommand() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate PACKAGE",
		Short: "Write CustomResourceDefinitions from the Go types of a package",
		Long: `Generate reads the types of a Go package, as the go command names it, and their +kubebuilder markers, and writes the
CustomResourceDefinition of each that is marked +kubebuilder:object:root=true: on standard output, or with -o as
PLURAL.yaml in a folder, or GROUP_PLURAL.yaml where two groups have the same plural. It is run in a folder of the package's
module, which may be any module.

Of pod templates, descriptions are cut to a sentence and unknown fields are kept, so that the definition fits into a
plain kubectl apply and newer fields of pods reach the pods.

It needs the go command and the sources of stoic, whose tools/go.mod fixes the version of controller-gen: those that
the module requires, or those of --engine. The first call downloads and compiles controller-gen.

Exit code: 0 done, 1 it failed or, with --check, a file is not what would be written, 2 the call was wrong, 130 it was
interrupted.`,
		Example: `  # Write the definitions of a package into a folder
  stoic crd generate ./api -o deploy/crd

  # In CI: are they as the types say?
  stoic crd generate ./api -o deploy/crd --check

  # Several versions of one resource, each in a package of its own
  stoic crd generate ./api/... -o deploy/crd`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringVarP(&f.folder, "output", "o", "", "`folder` to write the files into (default: standard output)")
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 and say where if a file is not what would be written")
	registerEngine(cmd, &f.engine)
	_ = cmd.MarkFlagDirname("output") // the flag is defined above
	return cmd
}

// registerEngine adds the flag that says where the sources of the engine are.
func registerEngine(cmd *cobra.Command, engine *string) {
	cmd.Flags().StringVar(engine, "engine", "", "`folder` of the sources of stoic (default: what this module requires, else the checkout around this folder or this program)")
	_ = cmd.MarkFlagDirname("engine") // the flag is defined above
}

func (f *generateFlags) run(cmd *cobra.Command, types string) error {
	if f.check && f.folder == "" {
		return command.UsageError(errors.New("--check: compares with files; name their folder with -o"))
	}
	files, err := generatedCRDs(cmd, f.engine, ".", types)
	if err != nil {
		return failure(cmd, err)
	}
	out := cmd.OutOrStdout()
	if f.folder == "" {
		for i, name := range slices.Sorted(maps.Keys(files)) {
			if i > 0 {
				fmt.Fprintln(out, "---")
			}
			if _, err := out.Write(files[name]); err != nil {
				return err
			}
		}
		return nil
	}
	var stale bool
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(f.folder, name)
		lines, err := differencesOf(path, files[name])
		switch {
		case err != nil:
			return err
		case len(lines) == 0:
			fmt.Fprintf(out, "%s: unchanged\n", path)
		case f.check:
			stale = true
			fmt.Fprintf(out, "%s: %s\n", path, strings.Join(lines, "\n  "))
		default:
			if err := writeFile(path, files[name]); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: written\n", path)
		}
	}
	if stale {
		return &command.ExitError{Code: 1}
	}
	return nil
}

// generatedCRDs returns the files generated from a package's types, by name.
func generatedCRDs(cmd *cobra.Command, engine, folder, types string) (map[string][]byte, error) {
	ctx := cmd.Context()
	engine, err := checkout.Find(ctx, engine, folder)
	if err != nil {
		return nil, err
	}
	program, err := checkout.Tool(ctx, engine, "controller-gen")
	if err != nil {
		return nil, err
	}
	crds, err := generate.CRDs(ctx, program, folder, types)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", types, err)
	}
	return filesOf(crds, types)
}

// filesOf names the files of CRDs after their plurals, and after their groups, too, if two groups have the same plural.
func filesOf(crds []*crdv1.CustomResourceDefinition, types string) (map[string][]byte, error) {
	groups := map[string]int{}
	for _, crd := range crds {
		groups[crd.Spec.Names.Plural]++
	}
	files := map[string][]byte{}
	for _, crd := range crds {
		name := crd.Spec.Names.Plural + ".yaml"
		if groups[crd.Spec.Names.Plural] > 1 {
			name = crd.Spec.Group + "_" + name
		}
		generate.Publish(crd)
		text, err := generate.Encode(crd)
		if err != nil {
			return nil, err
		}
		files[name] = append(fmt.Appendf(nil, "# Generated by \"stoic crd generate %s\". Do not edit.\n", types), text...)
	}
	return files, nil
}

// differencesOf returns how a file differs from what would be written; nothing if it does not.
func differencesOf(path string, want []byte) ([]string, error) {
	found, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		return []string{"missing"}, nil
	case err != nil:
		return nil, err
	case string(found) == string(want):
		return nil, nil
	}
	return append([]string{"differs"}, generate.Differences(found, want)...), nil
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}

// failure returns the error, or that the call was interrupted.
func failure(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() != nil {
		return command.ErrInterrupted
	}
	return err
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoic/cli/command"
	"stoic/training/versions/offline"
)

// convertFlags are the flags of convert.
type convertFlags struct {
	sourceFlags
	output      string
	to          string
	gpusPerNode int64
	allowLoss   bool
}

func newConvertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert [-f] FILE|DIR|-...",
		Short: "Write manifests of older operators as jobs of kubeflow.org/v1",
		Long: `Convert reads manifests and prints them with the jobs that were written for older operators as jobs of kubeflow.org/v1.
It needs no cluster. Other documents are printed as they are. Order and comments are kept where what they are about is;
what could not be carried, and what was written for the first time since its absence means another thing in v1, is
listed on standard error, with file, line and column.

It converts ` + formsText() + `.
MPIJobs of kubeflow.org/v2beta1 stay as they are, since the operator runs them, unless --to v1 is given.

What cannot be converted is left out, with an error. Pipe the result into "stoic validate -": a mistake in the manifest is
a mistake in the result.

Exit code: 0 done, 1 a document could not be converted, 2 a file could not be read, standard input was empty or the call
was wrong, 3 all was converted, but values were lost and --allow-loss is not given, 130 it was interrupted.`,
		Example: `  # Convert a manifest, and check the result
  stoic convert -f old.yaml > new.yaml
  stoic validate new.yaml

  # Convert what a template renders to
  helm template ./chart | stoic convert -f - | kubectl apply -f -

  # Write MPIJobs of v2beta1 as v1, too, although their images start processes in another way
  stoic convert --to v1 --allow-loss -f mpijob.yaml

  # Convert an MPIJob that names a number of GPUs, for nodes with eight
  stoic convert -f mpijob.yaml --gpus-per-node 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = append(slices.Clone(f.files), args...)
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	f.sourceFlags.register(flags)
	flags.StringVarP(&f.output, "output", "o", "yaml", `"yaml" or "json"`)
	flags.StringVar(&f.to, "to", "", `"v1" to convert MPIJobs of v2beta1, too (default: a version that the operator serves stays)`)
	flags.BoolVar(&f.allowLoss, "allow-loss", false, "exit with 0 although values were lost")
	flags.Int64Var(&f.gpusPerNode, "gpus-per-node", 0, "how many GPUs, or other processing units, a node has, for MPIJobs of v1alpha1 that name only their sum")
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"output": command.OneOf("yaml", "json"), "to": command.OneOf("v1"), "gpus-per-node": cobra.NoFileCompletions})
	return cmd
}

// formsText lists what is converted: each kind and group with its versions.
func formsText() string {
	var names []string
	versions := map[string][]string{}
	for _, form := range offline.Forms() {
		name, version, _ := strings.Cut(form, "/")
		if versions[name] == nil {
			names = append(names, name)
		}
		versions[name] = append(versions[name], version)
	}
	for i, name := range names {
		names[i] = name + " in " + strings.Join(versions[name], ", ")
	}
	return strings.Join(names, ";\n") + ".\nA TFJob or PyTorchJob of v1 is converted if its run policy is flat in the spec"
}

func (f *convertFlags) check(cmd *cobra.Command) error {
	switch {
	case f.output != "yaml" && f.output != "json":
		return command.UsageError(fmt.Errorf(`--output: found %q, must be "yaml" or "json"`, f.output))
	case f.to != "v1" && cmd.Flags().Changed("to"):
		return command.UsageError(fmt.Errorf(`--to: found %q, must be "v1"`, f.to))
	case cmd.Flags().Changed("gpus-per-node") && (f.gpusPerNode < 1 || f.gpusPerNode > math.MaxInt32):
		return command.UsageError(fmt.Errorf("--gpus-per-node: found %d, must be from 1 to %d", f.gpusPerNode, math.MaxInt32))
	case len(f.files) == 0:
		return command.UsageError(errors.New("nothing to convert: name a file or a folder, or - for standard input"))
	}
	return f.sourceFlags.check()
}

// run converts every document of every file, and continues after a file that it cannot read.
func (f *convertFlags) run(ctx context.Context, in io.Reader, out, errOut io.Writer) error {
	c := converting{convertFlags: f}
	unread := f.sourceFlags.read(ctx, in, c.document)
	if errors.Is(unread, command.ErrInterrupted) {
		return unread
	}
	if c.templates > 0 {
		fmt.Fprintf(&c.talk, "note: %s left out as templates that are not rendered; pipe `helm template` into this command\n", plural(c.templates, "document"))
	}
	fmt.Fprintf(&c.talk, "%s: %d converted, %d as before, %d could not be converted\n", plural(c.converted+c.same+c.failed, "object"), c.converted, c.same, c.failed)
	if _, err := errOut.Write(c.talk.Bytes()); err != nil {
		return fmt.Errorf("print what was lost: %w", err)
	}
	if _, err := out.Write(c.out.Bytes()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case unread != nil:
		return unread
	case c.failed > 0:
		return &command.ExitError{Code: 1}
	case c.lossy && !f.allowLoss:
		return &command.ExitError{Code: 3, Err: errors.New("values were lost: see above; --allow-loss ends with 0 nevertheless")}
	}
	return nil
}

// converting holds the output and the counts so far.
type converting struct {
	*convertFlags
	out, talk               bytes.Buffer
	converted, same, failed int
	lossy                   bool
	templates               int // in folders, not rendered
}

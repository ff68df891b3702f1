package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"stoic/controller/program"
	"stoic/schema"
)

// Main runs the program and returns its exit code. Args[0] decides the name of the program: as manager (the name in the image that this
// operator replaces) it is the controller command.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately

	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if name == "manager" {
		args = append([]string{args[0], "controller"}, doubleDashed(args[1:])...)
	}
	began := false
	printed := &written{to: out}
	root := newRoot(name, printed, func() { began = true })
	root.SetArgs(args[1:])
	root.SetIn(&interruptible{ctx, in})
	root.SetErr(errOut)

	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = printed.err()
	}
	if err == nil {
		return 0
	}
	code := 1
	var ended *exitError
	var wrong *program.UsageError
	switch {
	case errors.Is(err, errInterrupted):
		code, err = 130, errInterrupted
	case errors.As(err, &ended):
		code = ended.code
	case !began && printed.err() == nil, errors.As(err, &wrong):
		code = 2
	}
	if text := printable(strings.TrimSpace(err.Error())); text != "" {
		fmt.Fprintf(errOut, "error: %s\n", text)
		if code == 2 && !began {
			fmt.Fprintf(errOut, "See '%s --help'.\n", called.CommandPath())
		}
	}
	return code
}

// printable replaces control characters in a text, except tabs and line ends: a file name can contain any of them.
func printable(text string) string {
	const most = 16 << 10 // bytes of a line, up to a tab
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for j, part := range parts {
			parts[j] = schema.Clean(part, most)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// doubleDashed writes -leader-elect as --leader-elect: manager accepted both.
func doubleDashed(args []string) []string {
	written := slices.Clone(args)
	for i, a := range written {
		if len(a) > 2 && a[0] == '-' && a[1] >= 'a' && a[1] <= 'z' {
			written[i] = "-" + a
		}
	}
	return written
}

// Commands returns the tree of all commands, for inspection only: they must not be run.
func Commands() *cobra.Command { return newRoot("stoic", io.Discard, func() {}) }

func newRoot(name string, out io.Writer, began func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoic",
		Short: "Runs distributed training jobs; no malformed object can upset it",
		Long: `Stoic runs distributed training jobs of the kubeflow.org/v1 API on Kubernetes.
A malformed object is told what is wrong with it, and disturbs nobody else.`,
		Example: `  # Try it: a real control plane on this machine, the operator and some jobs
  stoic up

  # Check manifests before you apply them
  stoic validate -f job.yaml`,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRun: func(*cobra.Command, []string) { began() },
		// Neither Run nor Args: then cobra itself refuses unknown commands, with a suggestion.
	}
	root.AddCommand(newControllerCommand(), newValidateCommand(), newExplainCommand(), newConvertCommand(), newCRDCommand(), newInitCommand(), newUpCommand(), newWebhookCommand(), newMigrateCommand(), newVersionCommand())
	root.SetHelpCommand(newHelpCommand())
	root.SetOut(out) // before the next line: completion keeps it
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			refuseOtherShells(c)
		}
	}
	if name == "kubectl-stoic" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl stoic"}
		asPlugin(root)
	}
	return root
}

// asPlugin rewrites the examples of a command, and of those below it, to what a user of the plugin types.
func asPlugin(c *cobra.Command) {
	c.Example = strings.ReplaceAll(c.Example, "stoic ", "kubectl stoic ")
	c.Long = asCalled(c.Root(), c.Long)
	for _, below := range c.Commands() {
		asPlugin(below)
	}
}

// asCalled rewrites the commands in a text to the form in which they are called here.
func asCalled(root *cobra.Command, text string) string {
	if root.CommandPath() == root.Name() {
		return text
	}
	for _, c := range root.Commands() {
		text = strings.ReplaceAll(text, root.Name()+" "+c.Name(), c.CommandPath())
	}
	return text
}

// written keeps the first write error: cobra drops those of help.
type written struct {
	to    io.Writer
	mu    sync.Mutex
	first error
}

func (w *written) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = cmp.Or(w.first, err)
	return n, err
}

func (w *written) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first != nil {
		return fmt.Errorf("print: %w", w.first)
	}
	return nil
}

// newHelpCommand returns a help command that fails on unknown commands, which cobra's own does not.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Print the help of a command",

		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 { // cobra itself rejects unknown commands only at the root
				about.SuggestionsMinimumDistance = 2
				return refuseUnknown(about, rest)
			}
			if err != nil {
				return usageError(err)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// refuseOtherShells makes a misspelt shell an error: cobra prints help with exit code 0, which would be written to the file meant for the
// completion.
func refuseOtherShells(completion *cobra.Command) {
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError(fmt.Errorf("found shell %q, must be bash, fish, powershell or zsh", args[0]))
		}
		return cmd.Help()
	}
}

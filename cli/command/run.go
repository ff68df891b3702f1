package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"stoic/controller/program"
	"stoic/schema"
)

// Run runs the program until it ends or is interrupted, and returns its exit code.
func Run(root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately

	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	printed := &written{to: out}
	prepare(root, printed)
	root.SetArgs(args)
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
	var ended *ExitError
	var wrong *program.UsageError
	switch {
	case errors.Is(err, ErrInterrupted):
		code, err = 130, ErrInterrupted
	case errors.As(err, &ended):
		code = ended.Code
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

// prepare adds the help and completion commands.
func prepare(root *cobra.Command, out io.Writer) {
	root.SilenceUsage = true
	root.SilenceErrors = true
	root.SetHelpCommand(newHelp())
	root.SetOut(out) // before the next line: completion keeps it
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			refuseOtherShells(c)
		}
	}
}

// Inspect returns the tree of all commands as Run would have it, for inspection only.
func Inspect(root *cobra.Command) *cobra.Command {
	prepare(root, io.Discard)
	return root
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

// written keeps the first write error, because cobra ignores errors when it prints help.
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

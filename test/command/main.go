package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main parses the arguments and runs a command until it has ended or is interrupted. It returns the exit code: 0 if all is good,
// or only help was requested; 1 if not, or if it failed; 2 if the arguments are wrong, which parse has reported.
func Main[O any](name string, parse func(args []string, out io.Writer) (O, error), run func(ctx context.Context, o O, out io.Writer) (good bool, err error)) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	good, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	if err != nil || !good {
		return 1
	}
	return 0
}

// Flags returns the flags of a command. Its help describes the command, then the flags, and calls more.
func Flags(name, does string, more func(io.Writer), out io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprintf(out, "%s It needs Go and kubectl; everything runs on this machine.\n\nUsage: go run ./test/%s [flags]\n\n", does, name)
		f.PrintDefaults()
		more(out)
	}
	return f
}

// Parse parses the arguments, which are only flags. check returns other errors in them. An error has been printed.
func Parse(f *flag.FlagSet, args []string, check func() error) error {
	if err := f.Parse(args); err != nil {
		return err // the flag package has printed it
	}
	err := check()
	if f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(f.Output(), "%s: %v\n", f.Name(), err)
	}
	return err
}

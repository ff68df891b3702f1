package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"stoic/localcluster/parts"
	"stoic/localcluster/plane"
	"stoic/localcluster/supervise"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return 2, fmt.Errorf("say what to run: up, version, %s", strings.Join(parts.Names(), ", "))
	}
	switch args[0] {
	case "up":
		return up(args[1:])
	case "version":
		fmt.Println(parts.KubernetesVersion())
		return 0, nil
	}
	supervise.FollowParent()
	code, err := parts.Run(args[0], args[1:])
	if err != nil {
		return max(code, 1), err
	}
	return code, nil
}

func up(args []string) (int, error) {
	options, err := plane.ParseOptions(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	}
	if err != nil {
		return 2, err
	}
	options.Ready = os.Stdout
	options.Version = parts.KubernetesVersion()
	if options.Program, err = os.Executable(); err != nil {
		return 1, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	// If our starter was killed, nobody reads our messages any more; cleaning up is
	// still to be done.
	signal.Ignore(syscall.SIGPIPE)
	options.Commands = commands(ctx, cancel)
	if err := plane.Up(ctx, options); err != nil {
		return 1, err
	}
	return 0, nil
}

// commands yields the lines of the standard input. Whoever started us holds its
// other end; the end of that process is ours, even if it had no time to say so.
// A failed read means the same.
func commands(ctx context.Context, cancel context.CancelFunc) <-chan string {
	lines := make(chan string)
	go func() {
		defer cancel()
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			select {
			case lines <- input.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

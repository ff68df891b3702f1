//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	// The kernel ends the server when the thread that has started it ends: this one, which must stay.
	runtime.LockOSThread()
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "database:", err)
	}
	os.Exit(code)
}

// run runs a command beside a server, and returns its exit code.
func run(args []string) (code int, err error) {
	if len(args) < 2 || strings.HasPrefix(args[0], "-") {
		return 2, errors.New("call it as database postgres|mariadb COMMAND [ARGUMENT]...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := start(ctx, args[0])
	if err != nil {
		return 1, err
	}
	defer func() {
		if ended := server.stop(); ended != nil {
			code, err = max(code, 1), errors.Join(err, ended)
		}
	}()
	command := exec.CommandContext(ctx, args[1], args[2:]...)
	command.Env = append(os.Environ(), "STOIC_STORE="+server.url)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	err = command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil // it has printed why
	}
	if err != nil {
		return 1, fmt.Errorf("run %s: %w", args[1], err)
	}
	return 0, nil
}

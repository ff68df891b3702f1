package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stoic/cli/process"
)

// module is the name of the engine's module.
const module = "stoic"

// ErrNotFound says what to do, because only the user can do it.
var ErrNotFound = errors.New("the sources of stoic were not found: run in a checkout of stoic or in a module that requires it, or give --engine PATH")

// Find returns the absolute path of the sources: given, if it is set; else the engine that the module in folder requires; else the
// checkout that contains folder, or this program.
func Find(ctx context.Context, given, folder string) (string, error) {
	if given != "" {
		if !is(given) {
			return "", fmt.Errorf("%s is no checkout of stoic: its go.mod does not say \"module %s\"", given, module)
		}
		return filepath.Abs(given)
	}
	if required := Required(ctx, folder); required != "" {
		return required, nil
	}
	starts := []string{folder}
	if program, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(program))
	}
	for _, start := range starts {
		dir, err := filepath.Abs(start)
		if err != nil {
			continue // this folder is gone
		}
		for parent := ""; dir != parent; parent, dir = dir, filepath.Dir(dir) {
			if is(dir) {
				return dir, nil
			}
		}
	}
	return "", ErrNotFound
}

// Required returns the folder of the engine that the module of a folder requires, according to its go.mod. It is empty if the module
// does not require the engine, or if that cannot be determined.
func Required(ctx context.Context, folder string) string {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	process.Interruptible(cmd)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	if dir := string(bytes.TrimSpace(out)); dir != "" && is(dir) {
		return dir
	}
	return ""
}

// is reports whether the folder holds the module.
func is(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && strings.TrimSpace(first) == "module "+module
}

// Tool builds a tool of the engine's module tools, unless it is in the build cache, and returns the path of the executable. It needs
// the go command. Modules that the tool needs are downloaded if they are not in the module cache.
func Tool(ctx context.Context, engine, name string) (file string, err error) {
	out, err := runGo(ctx, filepath.Join(engine, "tools"), nil, "tool", "-n", name)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// Run compiles a program of the engine's module tools, unless it is in the build cache, and runs it with this standard input. It
// needs what Tool needs.
func Run(ctx context.Context, engine, program string, in []byte) (out []byte, err error) {
	if out, err = runGo(ctx, filepath.Join(engine, "tools"), in, "run", program); err != nil {
		return nil, fmt.Errorf("run %s: %w", strings.TrimPrefix(program, "./"), err)
	}
	return out, nil
}

// runGo runs the go command. Its error repeats what the command printed to standard error.
func runGo(ctx context.Context, folder string, in []byte, args ...string) ([]byte, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("this needs Go (https://go.dev/dl) on the PATH: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	process.Interruptible(cmd)
	cmd.Dir, cmd.Stdin = folder, bytes.NewReader(in)
	// These are the settings of make, whatever the user has set for other programs. No C compiler is needed.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOOS=", "GOARCH=", "GOFLAGS=-trimpath", "CGO_ENABLED=0", "PWD="+folder)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), folder, err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/vuln/scan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
		os.Exit(1)
	}
}

// errVulnerable says that vulnerabilities were found, which have already been printed.
var errVulnerable = errors.New("what is called has known vulnerabilities")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("vuln", flag.ContinueOnError)
	live := flags.Bool("live", false, "ask vuln.go.dev instead of the database in database.mod")
	release := flags.String("release", "../../go.mod", "file whose toolchain line says with which Go a release is compiled")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("found no folder, must be those of the modules to examine")
	}
	var with compilers
	var err error
	if with.release, err = toolchain(*release); err != nil {
		return err
	}
	if with.here, err = installed(ctx); err != nil {
		return err
	}
	d := database{name: "vuln.go.dev", address: "https://vuln.go.dev"}
	if !*live {
		if d, err = pinned(ctx); err != nil {
			return err
		}
	}
	vulnerable := false
	for _, folder := range flags.Args() {
		began := time.Now()
		fmt.Fprintf(out, "examine %s with %s and %s\n", folder, with.assumed(), d.name)
		r, err := examine(ctx, folder, d, with)
		if err != nil {
			return fmt.Errorf("examine %s: %w", folder, err)
		}
		fmt.Fprintf(out, "  %d packages, %d vulnerabilities of what they are built from, %.0f s\n", r.packages, len(r.summaries), time.Since(began).Seconds())
		r.print(out, with)
		vulnerable = vulnerable || len(r.failures) > 0
	}
	if vulnerable {
		return errVulnerable
	}
	return nil
}

// toolchain returns the release of Go that a go.mod requires.
func toolchain(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("find out with which Go a release is compiled: %w", err)
	}
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		return "", fmt.Errorf("find out with which Go a release is compiled: %w", err)
	}
	if file.Toolchain == nil {
		return "", fmt.Errorf("find out with which Go a release is compiled: %s has no line toolchain", path)
	}
	return file.Toolchain.Name, nil
}

// installed returns the release of the go command.
func installed(ctx context.Context) (string, error) {
	said, err := command(ctx, "env", "GOVERSION")
	return string(bytes.TrimSpace(said)), err
}

// database is a database of known vulnerabilities.
type database struct{ name, address string }

// pinned returns the database in database.mod. Its folder is a list of entries without an index, which govulncheck's client builds in
// memory.
func pinned(ctx context.Context) (database, error) {
	said, err := command(ctx, "mod", "download", "-modfile=database.mod", "-json", "golang.org/x/vulndb")
	if err != nil {
		return database{}, err
	}
	var module struct{ Path, Version, Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		return database{}, fmt.Errorf("read where the database of vulnerabilities is: %w", err)
	}
	address := url.URL{Scheme: "file", Path: filepath.Join(module.Dir, "data", "osv")}
	return database{name: module.Path + " " + module.Version, address: address.String()}, nil
}

func command(ctx context.Context, args ...string) ([]byte, error) {
	var messages bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Stderr = &messages
	said, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", c, err, said, messages.String()) // with -json, the error is in the output
	}
	return said, nil
}

// examine runs govulncheck in the folder of a module.
func examine(ctx context.Context, folder string, d database, with compilers) (report, error) {
	var said, messages bytes.Buffer
	c := scan.Command(ctx, "-C", folder, "-db", d.address, "-json", "./...")
	c.Stdout, c.Stderr, c.Env = &said, &messages, append(os.Environ(), "GOVERSION="+with.assumed())
	err := c.Start()
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		return report{}, fmt.Errorf("%w\n%s", err, messages.String())
	}
	return read(&said, with)
}

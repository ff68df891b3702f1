package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	only := flag.String("only", "", "go: write the client in Go alone, and leave the others as they are")
	install := flag.Bool("tools", false, "install openapi-typescript, quicktype and tsc, print the folder that they are in, and do nothing else")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *install {
		err = printTools(ctx, *root)
	} else {
		err = run(ctx, os.Stdout, *root, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// printTools implements -tools.
func printTools(ctx context.Context, root string) error {
	bin, err := tools(ctx, filepath.Join(root, "clients"))
	if err == nil {
		fmt.Println(bin)
	}
	return err
}

// run writes the clients of a checkout.
func run(ctx context.Context, progress io.Writer, root, only string) error {
	if only != "" && only != "go" {
		return fmt.Errorf("-only %s: can be go", only)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	clients := filepath.Join(root, "clients")
	fmt.Fprintln(progress, "Go")
	files, err := golang(ctx, progress, root)
	if err != nil {
		return err
	}
	if err := replace(clients, files, isGoFile); err != nil {
		return err
	}
	if only == "go" {
		return nil
	}
	if files, err = others(ctx, progress, root); err != nil {
		return err
	}
	if err := replace(clients, files, isOther); err != nil {
		return err
	}
	return writeSum(clients)
}

// document returns the document of the CRDs of a checkout, in which repeated schemas have names, and its text for openapi.json.
func document(root string) (d map[string]any, text []byte, err error) {
	if d, err = build(filepath.Join(root, "deploy", "crd")); err != nil {
		return nil, nil, err
	}
	if err := condense(d); err != nil {
		return nil, nil, err
	}
	text, err = encode(d)
	return d, text, err
}

// others returns the document and the clients that are generated from it, by their paths below the folder of the clients.
func others(ctx context.Context, progress io.Writer, root string) (map[string][]byte, error) {
	fmt.Fprintln(progress, "openapi.json")
	d, text, err := document(root)
	if err != nil {
		return nil, err
	}
	bin, err := tools(ctx, filepath.Join(root, "clients"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "TypeScript")
	files, err := typescript(ctx, bin, d)
	if err != nil {
		return nil, err
	}
	files[openAPI] = text
	for _, l := range languages() {
		fmt.Fprintln(progress, l.name)
		more, err := quicktype(ctx, bin, d, l)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, more)
	}
	return files, nil
}

const (
	openAPI = "openapi.json"
	sums    = "generated.sum"
)

// isGoFile reports whether golang writes a file, by its path below the folder of the clients; isOther reports the same of others.
func isGoFile(path string) bool {
	in, is := strings.CutPrefix(path, "go/")
	return is && isGenerated(in)
}

func isOther(path string) bool {
	return path == openAPI || path == "typescript/index.d.ts" || path == "python/kubeflow_v1.py" || strings.HasPrefix(path, "java/org/kubeflow/")
}

// replace writes files, and removes those that are no longer generated.
func replace(clients string, files map[string][]byte, generated func(path string) bool) error {
	there, err := filesIn(clients, "", generated)
	if err != nil {
		return err
	}
	for path := range there {
		if _, stays := files[path]; stays {
			continue
		}
		if err := os.Remove(filepath.Join(clients, path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove what is no longer generated: %w", err)
		}
	}
	return writeFiles(clients, files)
}

// writeSum records what the clients other than that in Go were generated from, and their content.
func writeSum(clients string) error {
	text, err := sum(clients)
	if err != nil {
		return err
	}
	return writeFiles(clients, map[string][]byte{sums: text})
}

// sum returns the text of generated.sum for the existing files.
func sum(clients string) ([]byte, error) {
	files, err := filesIn(clients, "", func(path string) bool { return path == lockFile || isOther(path) })
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(files[path]), path)
	}
	return text.Bytes(), nil
}

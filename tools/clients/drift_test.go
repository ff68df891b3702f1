package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// compare compares generated files with those in the folder clients.
func compare(t *testing.T, generated map[string][]byte, isGenerated func(path string) bool) {
	t.Helper()
	existing, err := filesIn(filepath.Join(root, "clients"), "", isGenerated)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(files map[string][]byte) map[string]string {
		all := map[string]string{}
		for path, content := range files {
			all[path] = string(content)
		}
		return all
	}
	if diff := cmp.Diff(texts(existing), texts(generated)); diff != "" {
		t.Errorf("run `make clients` (-existing +generated):\n%s", diff)
	}
}

func absoluteRoot(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDocument checks that openapi.json is what an API server publishes for the CRDs.
func TestDocument(t *testing.T) {
	_, text, err := document(root)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, map[string][]byte{openAPI: text}, func(path string) bool { return path == openAPI })
}

// TestGo checks that the generated files in Go are those that the current generators write.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("six generators are compiled: left out with -short")
	}
	t.Parallel()
	files, err := golang(t.Context(), t.Output(), absoluteRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Errorf("%d files", len(files))
	}
	compare(t, files, isGoFile)
}

// TestSum checks that the clients in TypeScript, Python and Java were generated from the current openapi.json, by the tools in
// package-lock.json, and have not been edited since. It needs no node.
func TestSum(t *testing.T) {
	text, err := sum(filepath.Join(root, "clients"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, map[string][]byte{sums: text}, func(path string) bool { return path == sums })
}

// TestOtherLanguages checks that the clients in TypeScript, Python and Java are what the tools write.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	files, err := others(ctx, io.Discard, absoluteRoot(t))
	if errors.Is(err, errNoNode) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	compare(t, files, isOther)
}

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// same compares generated files with the existing ones. It reports a file that is missing, one that differs, with the first differing
// line, and one that is no longer generated.
func same(t *testing.T, generated map[string][]byte, is func(path string) bool) {
	t.Helper()
	there, err := filesIn(filepath.Join(root, "clients"), "", is)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range differences(generated, there) {
		t.Errorf("%s: run `make clients`", difference)
	}
}

func differences(generated, there map[string][]byte) (found []string) {
	for path, text := range generated {
		if !is(path, generated, there) {
			found = append(found, "clients/"+path+firstDifference(string(there[path]), string(text)))
		}
	}
	for path := range there {
		if generated[path] == nil {
			found = append(found, "clients/"+path+" is generated no more")
		}
	}
	slices.Sort(found)
	return found
}

func is(path string, a, b map[string][]byte) bool {
	return b[path] != nil && string(a[path]) == string(b[path])
}

// firstDifference returns the first differing line of two texts, as it exists and as it is generated.
func firstDifference(there, generated string) string {
	if there == "" {
		return " is missing"
	}
	a, b := strings.Split(there, "\n"), strings.Split(generated, "\n")
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return " has " + strings.TrimSpace(a[i]) + "\nand " + strings.TrimSpace(b[i]) + "\nis generated"
		}
	}
	return " has another length"
}

func TestDifferences(t *testing.T) {
	generated := map[string][]byte{"same": []byte("a\n"), "other": []byte("a\nb\n"), "longer": []byte("a\nb"), "new": []byte("n")}
	there := map[string][]byte{"same": []byte("a\n"), "other": []byte("a\n c\n"), "longer": []byte("a\nb\nc"), "old": []byte("o")}
	want := []string{"clients/longer has another length", "clients/new is missing", "clients/old is generated no more", "clients/other has c\nand b\nis generated"}
	if found := differences(generated, there); !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// TestDocument: openapi.json is what an API server publishes for the CRDs.
func TestDocument(t *testing.T) {
	_, text, err := document(root)
	if err != nil {
		t.Fatal(err)
	}
	same(t, map[string][]byte{openAPI: text}, func(path string) bool { return path == openAPI })
}

// TestGo: the generated files in Go are those that the current generators write.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("six generators are compiled: left out with -short")
	}
	t.Parallel()
	files, err := golang(t.Context(), t.Output(), absolute(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Errorf("%d files", len(files))
	}
	same(t, files, isGoFile)
}

// TestSum: the clients in TypeScript, Python and Java were generated from the current openapi.json, by the tools in package-lock.json,
// and have not been edited since. It needs no node.
func TestSum(t *testing.T) {
	text, err := sum(filepath.Join(root, "clients"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines < 30 {
		t.Errorf("%d files", lines)
	}
	same(t, map[string][]byte{sums: text}, func(path string) bool { return path == sums })
}

// TestOthers: the clients in TypeScript, Python and Java are what the tools write.
func TestOthers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	files, err := others(ctx, io.Discard, absolute(t))
	if errors.Is(err, errNoNode) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, files, isOther)
}

func absolute(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReleases: the client in Go and its generators have the version of the operator's own client libraries.
func TestReleases(t *testing.T) {
	libraries := regexp.MustCompile(`k8s\.io/(api|apimachinery|client-go|code-generator) (v\S+)`)
	want := regexp.MustCompile(`k8s\.io/client-go (v\S+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	found := 0
	for _, file := range []string{"clients/go/go.mod", generatorsModule + "/go.mod"} {
		for _, library := range libraries.FindAllStringSubmatch(read(t, file), -1) {
			if found++; library[2] != want {
				t.Errorf("%s has %s of %s, the operator %s", file, library[1], library[2], want)
			}
		}
	}
	if found < 7 {
		t.Errorf("%d libraries are compared", found)
	}
}

// TestTools: each npm tool has one version and a hash of its content, and no host is named from which it must be downloaded.
func TestTools(t *testing.T) {
	lock := read(t, "clients/"+lockFile)
	packages, hashes := strings.Count(lock, "\n    \"node_modules/"), strings.Count(lock, `"integrity": "sha512-`)
	if packages != hashes || packages < 50 || strings.Contains(lock, `"resolved"`) {
		t.Errorf("%d packages, %d hashes, resolved: %v", packages, hashes, strings.Contains(lock, `"resolved"`))
	}
	for _, tool := range regexp.MustCompile(`(?m)^    "(\S+)": "(.*)"`).FindAllStringSubmatch(read(t, "clients/package.json"), -1) {
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(tool[2]) {
			t.Errorf("%s has the version %q", tool[1], tool[2])
		}
	}
}

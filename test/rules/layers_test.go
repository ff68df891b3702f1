package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stoic/training/kinds"
)

// layers numbers the packages. A package imports only packages of its own layer and of lower ones. The longest prefix counts.
var layers = map[string]int{
	"stoic/schema":              1,
	"stoic/convert":             1,
	"stoic/internal/lean":       1,
	"stoic/controller":          2, // the engine: a user who imports it gets nothing of training jobs
	"stoic/training":            3,
	"stoic/examples":            3,
	"stoic/deploy":              3,
	"stoic":                     4, // main, the programs and their generators
	"stoic/schema/crd":          4,
	"stoic/schema/crd/check":    1,
	"stoic/schema/crd/generate": 1,
	"stoic/docs/generated":      1,
	"stoic/test":                5,
}

// pure lists the packages that do no I/O, read no clock and start no goroutine: their results depend only on their arguments.
var pure = []string{"stoic/schema", "stoic/schema/crd/check", "stoic/convert", "stoic/convert/versions", "stoic/training/convert",
	"stoic/training/plan", "stoic/training/versions"}

// effects are the imports and calls that a pure package does not have.
var (
	effects = []string{"context", "net", "net/http", "os", "os/exec", "io/fs", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "runtime", "syscall"}
	clock   = regexp.MustCompile(`\b(time\.(Now|Since|Until|After|Sleep)|metav1\.Now)\(|\bgo func\(`)
)

// kindless lists the packages that know of a kind only what training.Kind says. A new kind changes no file in them.
var kindless = []string{"stoic/convert", "stoic/controller", "stoic/training/convert", "stoic/training/plan"}

type goPackage struct {
	ImportPath, Dir, Name, Doc string
	Imports, GoFiles           []string
}

func packages(t *testing.T) (all []goPackage) {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,Imports,GoFiles", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 30 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

// layerOf returns the layer of a package of this module, and 0 for any other package.
func layerOf(path string) int {
	for path != "" {
		if layer, found := layers[path]; found {
			return layer
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return 0
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if layerOf(imported) > layerOf(p.ImportPath) {
				t.Errorf("%s of layer %d imports %s of layer %d", p.ImportPath, layerOf(p.ImportPath), imported, layerOf(imported))
			}
			if slices.Contains(pure, p.ImportPath) && slices.Contains(effects, imported) {
				t.Errorf("%s is pure and imports %s", p.ImportPath, imported)
			}
		}
		if !strings.HasPrefix(p.Doc, "Package "+p.Name+" ") && p.Name != "main" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no comment that begins with Package %s", p.ImportPath, p.Name)
		}
	}
}

// TestPureAndKindless: no pure package reads a clock, and no code of the engine, the converter and the planner names a kind.
func TestPureAndKindless(t *testing.T) {
	var names []string
	for _, kind := range kinds.All() {
		names = append(names, kind.Name, kind.Plural, kind.ReplicaSpecsField)
	}
	kindName := regexp.MustCompile(`(?i)(` + strings.Join(names, "|") + `)`)
	for _, p := range packages(t) {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			code := regexp.MustCompile(`//.*`).ReplaceAll(text, nil)
			if found := clock.Find(code); found != nil && slices.Contains(pure, p.ImportPath) {
				t.Errorf("%s is pure, and %s has %s", p.ImportPath, file, found)
			}
			if found := kindName.Find(code); found != nil && slices.Contains(kindless, p.ImportPath) {
				t.Errorf("%s/%s names %s", p.ImportPath, file, found)
			}
		}
	}
}

// TestImageHasAllSources: .dockerignore excludes everything that it does not name, so it must name each folder of the operator.
func TestImageHasAllSources(t *testing.T) {
	list := exec.Command("go", "list", "-deps", ".")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	included := strings.Fields(read(t, ".dockerignore"))
	for _, path := range strings.Fields(string(out)) {
		below, ours := strings.CutPrefix(path, "stoic/")
		folder, _, _ := strings.Cut(below, "/")
		if ours && !slices.Contains(included, "!"+folder) {
			t.Errorf(".dockerignore excludes %s", path)
		}
	}
}

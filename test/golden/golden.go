package golden

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Run calls got for every NAME.yaml in the archives that pattern matches, and compares the result with NAME.want beside it. With update it
// writes that instead. got can use the other files of an archive; those that kept names are not changed. Run returns the number of cases.
func Run(t *testing.T, pattern string, update bool, got func(t *testing.T, archive map[string][]byte, name string) string, kept ...string) (cases int) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, all := &txtar.Archive{Comment: archive.Comment}, map[string][]byte{}
		for _, f := range archive.Files {
			all[f.Name] = f.Data
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			switch {
			case slices.Contains(kept, f.Name):
				out.Files = append(out.Files, f)
			case ok:
				cases++
				t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
					text := got(t, all, name)
					out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(text)})
					if diff := cmp.Diff(string(all[name+".want"]), text); diff != "" && !update {
						t.Errorf("-want +got:\n%s", diff)
					}
				})
			}
		}
		if update && !t.Failed() {
			if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cases
}

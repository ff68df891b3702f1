package helm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestSnapshots: sets of values and what they render. The first line of an archive may list the kinds that the cluster serves.
func TestSnapshots(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 6 {
		t.Fatalf("found %d snapshots, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) == 0 || archive.Files[0].Name != "values.yaml" {
				t.Fatal("the first file must be values.yaml")
			}
			first, _, _ := strings.Cut(string(archive.Comment), "\n")
			var served []string
			if list, says := strings.CutPrefix(first, "served: "); says {
				served = strings.Fields(list)
			}
			got := text(mustRender(t, string(archive.Files[0].Data), served...))
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 {
				t.Fatal("no snapshot: run with -update")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

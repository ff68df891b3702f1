package generated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpdate: a file that is missing, empty or different is stale, in order; a check writes nothing; what is written is not stale.
func TestUpdate(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	files := map[string][]byte{in("same"): []byte("a"), in("other"): []byte("b"), in("new/missing"): {}}
	for name, text := range map[string]string{"same": "a", "other": "a"} {
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		check bool
		want  []string
	}{{true, []string{in("new/missing"), in("other")}}, {false, []string{in("new/missing"), in("other")}}, {true, nil}} {
		stale, err := Update(files, c.check)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, stale); diff != "" {
			t.Errorf("check %t (-want +got):\n%s", c.check, diff)
		}
	}
	if stale, err := Update(map[string][]byte{folder: nil}, true); err == nil {
		t.Errorf("a folder is a file: %v", stale)
	}
}

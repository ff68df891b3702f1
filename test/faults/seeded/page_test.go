package seeded

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of bugs into docs/reliability.md")

// TestReliabilityPage: the table on the page is up to date.
func TestReliabilityPage(t *testing.T) {
	const begin, end = "-update -->\n", "<!-- end of bugs -->"
	file := filepath.Join("..", "..", "..", "docs", "reliability.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	there, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	want, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, there); diff != "" {
		t.Errorf("%s is not as the bugs are (-want +got); run with -update:\n%s", file, diff)
	}
}

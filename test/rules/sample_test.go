package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/cli"
)

// sample is a call of the program in a text, and the output that the text shows.
type sample struct {
	call, prints string
	line         int
}

// samples returns the calls of validate in the consoles of a text. The lines up to the next call or the end of the console are the output.
func samples(text string) (found []sample) {
	console, open := false, false
	number := 0
	for line := range strings.Lines(text) {
		number++
		switch {
		case strings.HasPrefix(line, "```"):
			console, open = !console && strings.TrimSpace(line) == "```console", false
		case console && strings.HasPrefix(line, "$ "):
			if open = strings.HasPrefix(line, "$ stoic validate "); open {
				found = append(found, sample{call: strings.TrimSpace(line[2:]), line: number})
			}
		case open:
			found[len(found)-1].prints += line
		}
	}
	return found
}

// TestSamples: the program prints what README shows.
func TestSamples(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := samples(string(text))
	if len(all) < 2 {
		t.Fatalf("found %d samples", len(all))
	}
	for _, s := range all {
		var out, talk bytes.Buffer
		cli.Main(strings.Fields(s.call), strings.NewReader(""), &out, &talk)
		if diff := cmp.Diff(s.prints, out.String()); diff != "" || talk.Len() > 0 {
			t.Errorf("README.md:%d: %s (-README +printed) %s\n%s", s.line, s.call, talk.String(), diff)
		}
	}
}

func TestSamplesAreFound(t *testing.T) {
	const text = "```sh\n$ stoic validate no\n```\n```console\n$ ls\na\n$ stoic validate a\nb\n\nc\n$ stoic validate d\n```\ne\n```console\n$ stoic validate f\n"
	want := []sample{{"stoic validate a", "b\n\nc\n", 7}, {"stoic validate d", "", 11}, {"stoic validate f", "", 15}}
	if diff := cmp.Diff(want, samples(text), cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
}

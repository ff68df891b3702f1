package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuoted: a shell reads the same word, and a word that needs no quotes has none.
func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"plain": "plain", "/a/b-c_d.yaml": "/a/b-c_d.yaml", "custom-columns=A:.a,B:.b": "custom-columns=A:.a,B:.b", "": "''", "with space": "'with space'", "it's": `'it'\''s'`,
		"~": "'~'", "$HOME": "'$HOME'", `x[?(@.type=="A")]`: `'x[?(@.type=="A")]'`, "a\nb": "'a\nb'", "é": "'é'", "a;b": "'a;b'", "*": "'*'",
	} {
		if d := cmp.Diff(want, quoted(word)); d != "" {
			t.Error(d)
		}
		out, err := exec.Command("sh", "-c", "printf %s "+quoted(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("a shell reads %s as %q, %v", quoted(word), out, err)
		}
	}
}

// TestShownCommands: the commands that are shown can be typed.
func TestShownCommands(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "kubectl"), []byte("#!/bin/sh\necho shown\n"))
	if err := os.Chmod(filepath.Join(bin, "kubectl"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	if err := (kubectl{kubeconfig: "x"}).show(t.Context(), &out, "get", "pods", "-o", `custom-columns=A:.a[?(@.b=="c")].d`); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("\n$ kubectl get pods -o 'custom-columns=A:.a[?(@.b==\"c\")].d'\nshown\n", out.String()); d != "" {
		t.Error(d)
	}
	f := initFlags{folder: "with space"}
	if said := f.report(); !strings.Contains(said, "  $ cd 'with space'\n") {
		t.Error(said)
	}
}

package checkout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFind: the given folder, what a module requires, and the checkout around a folder, in this order.
func TestFind(t *testing.T) {
	top := t.TempDir()
	given, required, around := filepath.Join(top, "given"), filepath.Join(top, "required"), filepath.Join(top, "around")
	for _, engine := range []string{given, required, around} {
		write(t, filepath.Join(engine, "go.mod"), "module stoic\n\ngo 1.26\n")
	}
	operator, below, nowhere := filepath.Join(around, "operator"), filepath.Join(around, "a", "b"), filepath.Join(top, "nowhere")
	write(t, filepath.Join(operator, "go.mod"), "module example.com/x\n\ngo 1.26\n\nrequire stoic v0.0.0\n\nreplace stoic => "+required+"\n")
	write(t, filepath.Join(below, "file"), "")
	write(t, filepath.Join(nowhere, "go.mod"), "module stoical\n")
	for _, test := range []struct {
		given, folder, want string
	}{{given, operator, given}, {"", operator, required}, {"", below, around}, {"", around, around}} {
		if got, err := Find(t.Context(), test.given, test.folder); err != nil || got != test.want {
			t.Errorf("%q in %s: %s, %v, want %s", test.given, test.folder, got, err, test.want)
		}
	}
	if _, err := Find(t.Context(), "", nowhere); !errors.Is(err, ErrNotFound) {
		t.Errorf("nowhere: %v", err)
	}
	for _, wrong := range []string{nowhere, below, filepath.Join(top, "absent")} {
		if _, err := Find(t.Context(), wrong, around); err == nil || !strings.Contains(err.Error(), "is no checkout of stoic") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if Required(t.Context(), nowhere) != "" || Required(t.Context(), operator) != required {
		t.Error("what is required is mixed up")
	}
}

// TestRun: errors contain the message of go or of the program; an interrupted call says so.
func TestRun(t *testing.T) {
	engine := t.TempDir()
	write(t, filepath.Join(engine, "tools", "go.mod"), "module tools\n\ngo 1.26\n")
	write(t, filepath.Join(engine, "tools", "echo", "main.go"), "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nfunc main() { io.Copy(os.Stdout, os.Stdin) }\n")
	write(t, filepath.Join(engine, "tools", "broken", "main.go"), "package main\n\nfunc {\n")
	if out, err := Run(t.Context(), engine, "./echo", []byte("a\nb")); err != nil || string(out) != "a\nb" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := Run(t.Context(), engine, "./broken", nil); err == nil || !strings.Contains(err.Error(), "run broken: go run ./broken in ") || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("broken: %v", err)
	}
	if _, err := Tool(t.Context(), engine, "absent"); err == nil || !strings.Contains(err.Error(), "build absent: ") {
		t.Errorf("absent: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if _, err := Run(ended, engine, "./echo", nil); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("interrupted: %v", err)
	}
	t.Setenv("PATH", engine)
	if _, err := Run(t.Context(), engine, "./echo", nil); err == nil || !strings.Contains(err.Error(), "this needs Go") {
		t.Errorf("without go: %v", err)
	}
}

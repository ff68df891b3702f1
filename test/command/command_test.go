package command

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExitCodes: success is 0, as is help; failure and errors are 1; wrong arguments are 2, and nothing runs.
func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		parsed, failed error
		good           bool
		want           int
	}{
		"good":   {nil, nil, true, 0},
		"bad":    {nil, nil, false, 1},
		"broken": {nil, errors.New("broken"), true, 1},
		"help":   {flag.ErrHelp, nil, false, 0},
		"wrong":  {errors.New("wrong"), nil, true, 2},
	} {
		ran := false
		code := Main("test", func([]string, io.Writer) (string, error) { return "options", c.parsed }, func(_ context.Context, o string, _ io.Writer) (bool, error) {
			ran = o == "options"
			return c.good, c.failed
		})
		if code != c.want || ran != (c.parsed == nil) {
			t.Errorf("%s: exit code %d, run: %v", name, code, ran)
		}
	}
}

func TestOpen(t *testing.T) {
	var out strings.Builder
	dir := filepath.Join(t.TempDir(), "a", "b")
	r, err := Open("test", ".", dir, &out)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() || r.Dir != dir || !filepath.IsAbs(r.Root) {
		t.Errorf("%+v, %v", r, err)
	}
	r.Say("%d of %d", 1, 2)
	if want := "    0s  1 of 2\n"; out.String() != want {
		t.Errorf("progress %q, want %q", out.String(), want)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.programs.Dir); !os.IsNotExist(err) {
		t.Errorf("what was built is still there: %v", err)
	}
	if _, err := Open("test", ".", os.DevNull+"/x", &out); err == nil {
		t.Error("a folder that cannot be made is taken")
	}
}

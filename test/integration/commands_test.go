package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// commandsOf returns the blocks of sh in a document, by the heading above.
func commandsOf(t *testing.T, document string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, _, _ := strings.Cut(section, "\n")
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
			found[heading] += block[1]
		}
	}
	return found
}

// shell runs commands of a document, each of which must succeed, in a folder, as an administrator. stoic is in the PATH, and so are
// the programs, which are files by their names.
func (r *rig) shell(t *testing.T, dir, commands string, programs map[string]string, env ...string) {
	t.Helper()
	if strings.TrimSpace(commands) == "" {
		t.Fatal("the document has no such commands")
	}
	programs = maps.Clone(programs)
	if programs == nil {
		programs = map[string]string{}
	}
	programs["stoic"] = build(t, "./cmd/stoic", r.flags...)
	bin := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		file, err := filepath.Abs(programs[name])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.cluster.Kubeconfig(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// runStoic runs the command line program.
func runStoic(t *testing.T, args ...string) (out, talk string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t, "./cmd/stoic", raceDetector()...), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatalf("run stoic %s: %v", strings.Join(args, " "), err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// valueOf returns a field, as JSON; "" if there is none.
func valueOf(of *unstructured.Unstructured, path ...string) string {
	value, found, err := unstructured.NestedFieldNoCopy(of.Object, path...)
	if err != nil || !found {
		return ""
	}
	out, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

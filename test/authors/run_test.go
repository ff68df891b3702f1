package authors

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// patience bounds every wait for a condition; it is generous because machines are slow.
const patience = 3 * time.Minute

// module is a folder of the tutorial on disk, and how commands run there.
type module struct {
	t               *testing.T
	dir, kubeconfig string
	env             []string
}

// newModule writes a folder, and makes it a module as the first commands of the page do.
func newModule(t *testing.T, f Folder, first Block, kubeconfig string) *module {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	m := &module{t: t, dir: t.TempDir(), kubeconfig: kubeconfig, env: append(os.Environ(), "STOIC="+checkout, "KUBECONFIG="+kubeconfig)}
	if err := f.WriteTo(m.dir); err != nil {
		t.Fatal(err)
	}
	m.script(first)
	return m
}

// output returns the output of a script, and whether it failed.
func (m *module) output(script string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "bash", "-ec", script)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// script runs a script to its end.
func (m *module) script(b Block) (out string) {
	m.t.Helper()
	m.t.Logf("$ %s", strings.ReplaceAll(b.Script, "\n", "\n$ "))
	out, err := m.output(b.Script)
	if err != nil {
		m.t.Fatalf("%s:%d: %v\n%s", page, b.Line, err, out)
	}
	return out
}

// console compares the output. A command that only reads is retried until the output matches.
func (m *module) console(b Block) {
	m.t.Helper()
	for _, c := range b.Commands {
		m.t.Logf("$ %s", c.Line)
		out, err := m.output(c.Line)
		for end := time.Now().Add(patience); strings.HasPrefix(c.Line, "kubectl get ") && (err != nil || !same(out, c.Prints)) && time.Now().Before(end); out, err = m.output(c.Line) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil || !same(out, c.Prints) {
			m.t.Fatalf("%s:%d: %s: %v, printed\n%s\nwant\n%s", page, b.Line, c.Line, err, out, c.Prints)
		}
	}
}

// same compares without line ends at the end.
func same(a, b string) bool { return strings.TrimRight(a, "\n") == strings.TrimRight(b, "\n") }

// shells returns the blocks of a step that have commands.
func shells(s Step) (all []Block) {
	for _, b := range s.Blocks {
		if b.File == "" {
			all = append(all, b)
		}
	}
	return all
}

// TestSteps builds, vets and tests the module after each step, as the page says.
func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module for each step")
	}
	steps := tutorial(t)
	all := folders(t, steps)
	first := shells(steps[0])
	for i, s := range steps[:7] {
		t.Run(fmt.Sprintf("step %d", i+1), func(t *testing.T) {
			t.Parallel()
			m := newModule(t, all[i], first[0], "none")
			m.script(first[1])
			for _, b := range first[2:] { // all output in step 1 is about step 1
				if i == 0 {
					m.console(b)
				}
			}
			if i > 0 && i < 6 && len(shells(s)) > 0 {
				t.Errorf("step %d has commands that are not run", i+1)
			}
		})
	}
}

// TestProgram runs the program of the last steps on a control plane.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	t.Parallel()
	steps := tutorial(t)
	all := folders(t, steps)
	c, _ := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: -1, Progress: t.Output()})
	m := newModule(t, all[6], shells(steps[0])[0], c.Kubeconfig())
	if out, err := m.output("go mod tidy"); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	blocks := shells(steps[6])
	if len(blocks) != 4 || !strings.HasSuffix(blocks[0].Script, "bin/stoic up") || !blocks[1].Stays || len(blocks[2].Commands) < 10 {
		t.Fatalf("step 7 has other blocks: %+v", blocks)
	}
	m.stay(blocks[1]) // the first one starts a control plane
	m.console(blocks[2])
	m.console(blocks[3])
	t.Run("fault cases", func(t *testing.T) { faultCases(t, m, shells(steps[7])) })
}

// faultCases: the fault cases of the example hold for the operator of the tutorial, which does the same.
func faultCases(t *testing.T, m *module, blocks []Block) {
	if len(blocks) != 1 {
		t.Fatalf("step 8 has other blocks: %+v", blocks)
	}
	own := *m
	own.t = t
	out := own.script(blocks[0])
	t.Log(out)
	for _, goal := range []string{"G1", "G3", "G5"} {
		if !regexp.MustCompile(`(?m)^` + goal + ` .*`).MatchString(out) {
			t.Errorf("no case of %s was tried", goal)
		}
	}
}

// stay runs a script without its last line, and starts that line.
func (m *module) stay(b Block) {
	m.t.Helper()
	cut := strings.LastIndex(b.Script, "\n")
	m.script(Block{Line: b.Line, Script: b.Script[:cut]})
	words := strings.Fields(b.Script[cut:])
	words[0] = filepath.Join(m.dir, words[0])
	p, err := operator.Start(operator.Options{Command: words, Kubeconfig: m.kubeconfig, Log: filepath.Join(m.t.TempDir(), "log")})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			m.t.Error(err)
		} else if m.t.Failed() {
			m.t.Logf("the operator's log ends:\n%s", p.Tail())
		}
	})
}

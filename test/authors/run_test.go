package authors

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// patience bounds every wait for a condition; it is generous because machines are slow.
const patience = 90 * time.Second

// module is a folder of the tutorial on disk, and how commands are run there.
type module struct {
	t   *testing.T
	dir string
	env []string
}

// newModule writes a folder, and makes it a module as the first commands of the page do.
func newModule(t *testing.T, f Folder, first Block, kubeconfig string) *module {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	m := &module{t: t, dir: t.TempDir(), env: append(os.Environ(), "STOIC="+checkout, "KUBECONFIG="+kubeconfig)}
	if err := f.WriteTo(m.dir); err != nil {
		t.Fatal(err)
	}
	m.run(first)
	return m
}

// output of a command line, and whether it failed.
func (m *module) output(line string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "bash", "-c", line)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run the commands of a block. What a console prints is compared: what only reads is asked again until it is so.
func (m *module) run(b Block) {
	m.t.Helper()
	for _, c := range b.Commands {
		m.t.Logf("$ %s", c.Line)
		out, err := m.output(c.Line)
		for end := time.Now().Add(patience); strings.HasPrefix(c.Line, "kubectl get ") && (err != nil || out != c.Prints) && time.Now().Before(end); out, err = m.output(c.Line) {
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			m.t.Fatalf("%s:%d: %s: %v\n%s", page, b.Line, c.Line, err, out)
		}
		if c.Prints != "" && strings.TrimRight(out, "\n") != strings.TrimRight(c.Prints, "\n") {
			m.t.Fatalf("%s:%d: %s: printed\n%s\nwant\n%s", page, b.Line, c.Line, out, c.Prints)
		}
	}
}

// shells are the blocks of a step that hold commands.
func shells(s Step) (all []Block) {
	for _, b := range s.Blocks {
		if len(b.Commands) > 0 {
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
			m.run(first[1])
			if i == 0 {
				for _, b := range first[2:] {
					m.run(b)
				}
			} else if i < 6 && len(shells(s)) > 0 {
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
	if len(blocks) != 3 || !blocks[0].Stays || !blocks[1].Stays || blocks[2].Stays || !strings.Contains(blocks[0].Commands[0].Line, "bin/stoic up") {
		t.Fatalf("step 7 has other blocks: %+v", blocks)
	}
	m.stay(blocks[1])
	m.run(blocks[2])
}

// stay runs the commands of a block, and starts the last one.
func (m *module) stay(b Block) {
	m.t.Helper()
	last := len(b.Commands) - 1
	m.run(Block{Line: b.Line, Commands: b.Commands[:last]})
	words := strings.Fields(b.Commands[last].Line)
	words[0] = filepath.Join(m.dir, words[0])
	p, err := operator.Start(operator.Options{Command: words, Kubeconfig: strings.TrimPrefix(m.env[len(m.env)-1], "KUBECONFIG="), Log: filepath.Join(m.t.TempDir(), "log")})
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

package upheaval

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// root is the checkout, seen from this package.
const root = "../../.."

// quick is how many plans run without -all.
const quick = 2

func TestMain(m *testing.M) {
	flag.Bool("all", false, "run every plan, not only the quick ones")
	flag.Uint64("seed", 1, "of the plans")
	flag.Parse()
	os.Exit(m.Run())
}

// given is the value of a flag of this test binary.
func given[T any](t *testing.T, name string) T {
	t.Helper()
	getter, ok := flag.Lookup(name).Value.(flag.Getter)
	if !ok {
		t.Fatalf("flag %s cannot be read", name)
	}
	value, ok := getter.Get().(T)
	if !ok {
		t.Fatalf("flag %s is a %T", name, getter.Get())
	}
	return value
}

func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	env := Env{Operator: build(t), Root: root}
	plans := Plans(given[uint64](t, "seed"))
	if !given[bool](t, "all") {
		plans = plans[:quick]
	}
	passed := map[string]*atomic.Int64{"G15": {}, "G16": {}}
	t.Cleanup(func() {
		fmt.Printf("upheavals %d, of which %d with CRDs (G15) and %d with an etcd that was restored (G16)\n",
			passed["G15"].Load()+passed["G16"].Load(), passed["G15"].Load(), passed["G16"].Load())
	})
	for _, p := range plans {
		t.Run(p.Goal+"/"+p.Name, func(t *testing.T) {
			t.Parallel() // each has a control plane of its own
			env := env
			began := time.Now()
			env.Log = func(format string, values ...any) {
				t.Logf("%6.1fs  %s", time.Since(began).Seconds(), fmt.Sprintf(format, values...))
			}
			if err := p.Run(t.Context(), env); err != nil {
				t.Error(err)
			} else {
				passed[p.Goal].Add(1)
			}
			env.Log("over")
		})
	}
}

// build compiles the operator.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stoic")
	command := exec.Command("go", "build", "-o", program, ".")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return program
}

// TestEndOfTheOperatorIsNoticed: a rig that does not see its operator die shows nothing.
func TestEndOfTheOperatorIsNoticed(t *testing.T) {
	folder := t.TempDir()
	p := &process{ended: make(chan struct{}), log: filepath.Join(folder, "log"), exit: errors.New("exit status 3")}
	if err := os.WriteFile(p.log, []byte("one\npanic: two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &ground{process: p, stretch: 1}
	never := func(context.Context) (bool, string) { return false, "nothing" }
	if _, err := g.await(t.Context(), time.Millisecond, "nothing", never); err == nil || !strings.Contains(err.Error(), "last seen: nothing") {
		t.Errorf("a wait that is too long ends with %v", err)
	}
	close(p.ended)
	if _, err := g.await(t.Context(), time.Hour, "nothing", never); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the end of the operator is not told: %v", err)
	}
	if p.orderly() == nil {
		t.Error("a panic in the log is not told")
	}
}

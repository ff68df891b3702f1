package disruption

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stoic/test/operator"
)

// root is the checkout, relative to this package.
const root = "../../.."

// quick is how many plans run without -all.
const quick = 2

var (
	all  = flag.Bool("all", false, "run every plan, not only the quick ones")
	seed = flag.Uint64("seed", 1, "of the plans")
)

func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	env := Env{Operator: operator.Built(t, root), Root: root, Busy: !*all}
	plans := Plans(*seed)
	if !*all {
		plans = plans[:quick]
	}
	passed := map[string]*atomic.Int64{"G15": {}, "G16": {}}
	t.Cleanup(func() {
		fmt.Printf("disruptions %d, of which %d with CRDs (G15) and %d with an etcd that was restored (G16)\n",
			passed["G15"].Load()+passed["G16"].Load(), passed["G15"].Load(), passed["G16"].Load())
	})
	for _, p := range plans {
		t.Run(p.Goal+"/"+p.Name, func(t *testing.T) {
			t.Parallel() // each has its own control plane
			if p.Goal == "G16" && strings.Contains(operator.Store(), "://") {
				t.Skip("the store is a database, which is saved and restored with its own tools")
			}
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

// TestEndOfTheOperatorIsNoticed: the rig notices that its operator has ended; otherwise it would prove nothing.
func TestEndOfTheOperatorIsNoticed(t *testing.T) {
	g := &environment{stretch: 1}
	start := func(script string) {
		var err error
		g.process, err = operator.Start(operator.Options{Command: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log")})
		if err != nil {
			t.Fatal(err)
		}
	}
	never := func(context.Context) (bool, string) { return false, "nothing" }
	start("exec sleep 60")
	if _, err := g.await(t.Context(), time.Nanosecond, "nothing", never); err == nil || !strings.Contains(err.Error(), "last seen: nothing") {
		t.Errorf("a wait that is too long ends with %v", err)
	}
	if err := g.process.Kill(); err != nil {
		t.Fatal(err)
	}
	start("echo one; echo panic: two; exit 3")
	if _, err := g.await(t.Context(), time.Hour, "nothing", never); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the end of the operator is not told: %v", err)
	}
	if err := g.stop(); err == nil || !strings.Contains(err.Error(), "panic: two") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("what was wrong with the operator is not told in the end: %v", err)
	}
}

// TestSets: none, each alone, all but each, all.
func TestSets(t *testing.T) {
	for n, want := range map[int]string{0: "[0]", 1: "[0 1]", 2: "[0 1 2 3]", 3: "[0 1 2 3 4 5 6 7]", 4: "[0 1 2 4 7 8 11 13 14 15]"} {
		if got := fmt.Sprint(sets(n)); got != want {
			t.Errorf("%d parts: %s, want %s", n, got, want)
		}
	}
}

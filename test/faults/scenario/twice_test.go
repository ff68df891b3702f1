package scenario_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

const (
	root = "../../.."
	// patience is for all of the scenarios, of which many run in parallel, on a machine that does other things as well.
	patience = 15 * time.Minute
	// settled is longer than any delay after which the operator acts of its own accord.
	settled = 3 * time.Second
)

// TestEveryScenarioTwice runs every scenario twice with the real operator on a real control plane: the second run ends like the
// first, and no oracle finds a violation.
func TestEveryScenarioTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane: left out with -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stoic := operator.Built(t, root)
	c, config := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"),
		CRDs: []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, "test/fixtures/podgroups-volcano.yaml")}})
	if err := operator.Permit(ctx, c.Kubeconfig(), root); err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int64
	recorder, disturbed := record(t, config), record(t, cut(config, &cuts))
	spaces := map[string]string{} // by the flags that their operators have
	for _, s := range jobs() {
		flags := strings.Join(s.Flags, " ")
		if spaces[flags] == "" {
			spaces[flags] = fmt.Sprintf("space-%d", len(spaces))
			if _, err := operator.Kubectl(ctx, c.Kubeconfig(), nil, "create", "namespace", spaces[flags]); err != nil {
				t.Fatal(err)
			}
			operator.InTest(t, operator.Options{Command: operator.Stoic(stoic), Kubeconfig: c.UserKubeconfig("operator"), Namespace: spaces[flags], Flags: s.Flags})
		}
	}
	client := dynamic.NewForConfigOrDie(config)
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range jobs() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				space := spaces[strings.Join(s.Flags, " ")]
				runs := twice(ctx, t, s, func(job string) scenario.Actor {
					return scenario.Actor{Client: client, Namespace: space, Job: job, Run: recorder.RunOf(s.Subject(scenario.Places{Namespace: space}, job))}
				})
				for _, a := range runs {
					compare(ctx, t, a.Run, disturbed.RunOf(a.Run.Subject()))
				}
			})
		}
	})
	if n := cuts.Load(); n < 5 {
		t.Errorf("the watches of the second record were cut %d times", n)
	}
	fmt.Printf("scenarios %d, each run twice; watches cut %d times\n", len(jobs()), cuts.Load())
}

// jobs returns the scenarios of the operator that these tests run.
func jobs() []scenario.Scenario {
	return slices.DeleteFunc(scenario.All(), func(s scenario.Scenario) bool { return s.Operator.Name != "training" })
}

// record records what happens until the test ends.
func record(t *testing.T, config *rest.Config) *history.Recorder {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	recorder, err := history.Record(ctx, config, scenario.Resources(jobs())...)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		recorder.Wait()
	})
	return recorder
}

// cut returns a configuration for a client whose watches each break off after some bytes.
func cut(config *rest.Config, cuts *atomic.Int64) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && r.URL.Query().Has("watch") {
				response.Body = &broken{ReadCloser: response.Body, left: 40 << 10, cuts: cuts}
			}
			return response, err
		})
	})
	return own
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type broken struct {
	io.ReadCloser
	left int
	cuts *atomic.Int64
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.cuts.Add(1)
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// compare checks two records of a run: cuts have lost and duplicated nothing.
func compare(ctx context.Context, t *testing.T, plain, disturbed *history.Run) {
	t.Helper()
	if len(plain.Versions()) == 0 {
		t.Fatal("nothing was recorded")
	}
	// The watches of two resources are independent: that of pods may be behind when that of services is not.
	for _, both := range [][2]*history.Run{{plain, disturbed}, {disturbed, plain}} {
		for _, v := range both[0].Versions() {
			if err := both[1].AwaitReported(ctx, v.Object); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := func(l *history.Run) (lines []string) {
		for _, v := range l.Versions() {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", v.Type, v.Resource.Resource, v.Object.GetName(), v.Object.GetResourceVersion()))
		}
		return lines
	}
	if diff := cmp.Diff(text(plain), text(disturbed)); diff != "" {
		t.Errorf("a record whose watches are cut (-plain +cut):\n%s", diff)
	}
}

// twice runs a scenario two times in parallel.
func twice(ctx context.Context, t *testing.T, s scenario.Scenario, actor func(job string) scenario.Actor) []scenario.Actor {
	first, second := actor(s.Name+"-1"), actor(s.Name+"-2")
	done := make(chan error, 2)
	for _, a := range []scenario.Actor{first, second} {
		go func() {
			began := time.Now()
			err := s.Run(ctx, a)
			took := time.Since(began)
			if err == nil {
				err = a.Run.Quiet(ctx, settled)
			}
			if reference := oracle.Observe(s.Operator.Rules, a.Run, nil); err == nil {
				t.Logf("%s took %v, %d versions, %d events", a.Job, took.Round(time.Millisecond), len(reference.Versions), reference.Events)
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	rules := s.Operator.Rules
	for _, v := range oracle.Judge(rules, second.Run, nil, nil, oracle.Observe(rules, first.Run, nil), oracle.Limits{Paths: s.Paths}) {
		t.Error(v)
	}
	if gaps := second.Run.Gaps(); len(gaps) > 0 {
		t.Errorf("versions may be missing: %v", gaps)
	}
	t.Logf("%s ends as\n%s", s.Name, first.Run.View().Digest(rules.Status))
	for _, a := range []scenario.Actor{first, second} {
		if err := s.CleanUp(ctx, a); err != nil {
			t.Error(err)
		}
	}
	return []scenario.Actor{first, second}
}

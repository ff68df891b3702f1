package integration

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stoic/schema"
	"stoic/training/kinds"
)

// How many malformed templates are tried; -differential.cases=-1 tries every single mutation of every node.
var (
	differentialCases = flag.Int("differential.cases", 8000, "how many spoilt pod templates to show to the API server")
	differentialSeed  = flag.Uint64("differential.seed", 1, "which of them")
)

const (
	// atOnce is how many requests run in parallel.
	atOnce = 16
	// mostShown is how many of all disagreements are shown.
	mostShown = 40
)

// TestDifferential compares the converter with the API server, which decides what can run.
//
//	converter  API server    is
//	job        accepts it    agreement
//	rejection  rejects it    agreement
//	rejection  accepts it    an over-rejection: we reject what Kubernetes can run
//	job        rejects it    an under-rejection: only FailedCreatePod events report it
//
// Both disagreements need an entry in a table of differential_exceptions_test.go that says why.
func TestDifferential(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := shared(t)
	r.kubectl(t, nil, "apply", "-f", "testdata/surroundings.yaml")
	comparison := newComparison(t, r)
	bases := templates(t)
	for i := range bases {
		for _, kind := range kinds.Served() {
			c := trial{base: i, template: fromJSON(asJSON(bases[i]))}.as(kind)
			for _, c.launcher = range []bool{false, kind.ReplicaTypes[0].Batch} {
				if f := comparison.compare(context.Background(), c); f.outcome != bothTake || f.trouble != nil {
					t.Errorf("no sound base: %v", f)
				}
			}
		}
	}
	if t.Failed() {
		return
	}
	t.Run("names", func(t *testing.T) { names(t, comparison) })
	t.Run("full lists", func(t *testing.T) { fullLists(t, comparison) })
	t.Run("templates", func(t *testing.T) {
		trials := drawTrials(bases, *differentialCases, rand.New(rand.NewPCG(*differentialSeed, 0)))
		start := time.Now()
		report(t, hold(t, comparison, trials))
		t.Logf("%d trials, %d requests in %v, seed %d", len(trials), comparison.requests.Load(), time.Since(start).Round(time.Millisecond), *differentialSeed)
	})
}

// hold runs all trials, several in parallel. The findings are in the order of the trials.
func hold(t *testing.T, comparison *comparison, trials []trial) []finding {
	t.Helper()
	found := make([]finding, len(trials))
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(atOnce)
	for i, c := range trials {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			found[i] = comparison.compare(ctx, c)
			return found[i].trouble
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return found
}

// names compares the answers to names of jobs, from which the names of pods and services are made.
func names(t *testing.T, comparison *comparison) {
	plain := templates(t)[3]
	var trials []trial
	for _, name := range oddNames() {
		trials = append(trials, trial{kind: kinds.TFJob(), name: name, template: plain, changes: []string{"name " + schema.Quote(name)}})
	}
	report(t, hold(t, comparison, trials))
}

// fullLists compares the answers to lists of a template that have the maximum length, or one more: we append entries to them.
func fullLists(t *testing.T, comparison *comparison) {
	domains := func(n, length int) map[string]any {
		var all []any
		for i := range n {
			all = append(all, fmt.Sprintf("d%02d.", i)+strings.Repeat("x", length-4))
		}
		return map[string]any{"searches": all}
	}
	var trials []trial
	for _, kind := range kinds.Served() {
		for what, config := range map[string]map[string]any{"31 search domains": domains(31, 8), "32": domains(32, 8), "33": domains(33, 8),
			"of 2010 characters": domains(30, 66), "of 2040": domains(30, 67), "of 2070": domains(30, 68)} {
			template, _ := fromJSON(asJSON(templates(t)[3])).(map[string]any)
			template["spec"].(map[string]any)["dnsConfig"] = config
			trials = append(trials, trial{base: 3, template: template, changes: []string{what}}.as(kind))
		}
	}
	found := hold(t, comparison, trials)
	report(t, found)
	for _, f := range found {
		if f.outcome == bothTake && f.changes[0] == "33" {
			t.Errorf("nobody minds: %v", f)
		}
	}
}

// report fails for each disagreement that no exception covers.
func report(t *testing.T, found []finding) {
	t.Helper()
	failures := 0
	for _, f := range found {
		if (f.outcome == onlyServerTakes || f.outcome == onlyWeTake) && excuse(f) == nil {
			failures++
			if failures <= mostShown {
				t.Errorf("%v", f)
			}
		}
	}
	if failures > mostShown {
		t.Errorf("and %d more", failures-mostShown)
	}
}

func (o outcome) String() string {
	return [...]string{"both take it", "both refuse it", "a matter of the job", "over-rejection", "under-rejection"}[o]
}

func (f finding) String() string {
	return fmt.Sprintf("%v of a %s of template %d with %q\n  problems: %v\n  API server: %v", f.outcome, f.kind.Name, f.base, f.changes, f.problems, f.refusal)
}

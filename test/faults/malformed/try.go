package malformed

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"stoic/test/faults/mutation"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// Options say what is tried, and where.
type Options struct {
	// Root is the checkout; Dir is for logs and the evidence of failures.
	Root, Dir string
	// Config is the administrator's, and Definitions is the same where custom resources are defined.
	Config, Definitions *rest.Config
	Programs            []Program
	// Seed draws the mutations; Most is how many of each kind are tried: so many stored ones at least, if they exist.
	Seed uint64
	Most int
	// Busy says that the machine may have other work: no object fails because something took long.
	Busy bool
	// Round is how many of a kind are stored at a time.
	Round int
	// Wanted reports, by kind and name, whether a mutation may be drawn; nil: all.
	Wanted func(kind, name string) bool
	// List: nothing is stored.
	List bool
	Say  func(format string, values ...any)
}

// Result is the result of one mutation, or, without a name, of all that were stored together.
type Result struct {
	Operator   *scenario.Operator
	Kind, Name string
	// Refused: the API server rejects it.
	Refused    bool
	Violations []oracle.Violation
	// Settled is the time from the write until the object was seen at its end.
	Settled  time.Duration
	Evidence string
}

// Try tries mutations of all kinds, on an otherwise idle control plane. It returns how many are possible. An error says that they
// could not be tried.
func Try(ctx context.Context, o Options) (possible int, results []Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := open(ctx, o)
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		for _, program := range p.programs {
			program.kill()
		}
		cancel()
		p.sight.running.Shutdown()
	}()
	for _, program := range p.programs {
		if err := program.serve(ctx, quietSpace); err != nil {
			return 0, nil, err
		}
	}
	if err := p.learn(ctx); err != nil {
		return 0, nil, err
	}
	for _, program := range p.programs {
		if err := program.end(ctx); err != nil {
			return 0, nil, err
		}
	}
	t := &trial{plane: p, left: map[*kind][]choice{}, healthy: map[*kind][]time.Duration{}, malformed: map[*kind][]time.Duration{}}
	for _, k := range p.kinds {
		possible += len(k.all)
		t.left[k] = p.draw(k)
	}
	if o.List {
		return possible, t.list(), nil
	}
	err = t.rounds(ctx)
	return possible, t.results, err
}

// draw returns the mutations of a kind in the order in which they are tried: more than needed, as an API server does not store them all.
func (p *plane) draw(k *kind) (drawn []choice) {
	wanted := slices.DeleteFunc(slices.Clone(k.all), func(c choice) bool { return p.Wanted != nil && !p.Wanted(k.name, c.Name()) })
	bases := map[int][]mutation.Mutation{}
	for _, c := range wanted {
		bases[c.base] = append(bases[c.base], c.Mutation)
	}
	for _, base := range slices.Sorted(maps.Keys(bases)) {
		for _, m := range mutation.Sample(bases[base], 2*p.Most/len(k.Valid)+1, p.Seed) {
			drawn = append(drawn, choice{base, m})
		}
	}
	return interleaved(drawn, len(k.Valid))
}

// interleaved alternates between the mutations of the valid objects.
func interleaved(all []choice, bases int) (mixed []choice) {
	queues := make([][]choice, bases)
	for _, c := range all {
		queues[c.base] = append(queues[c.base], c)
	}
	for len(mixed) < len(all) {
		for i, q := range queues {
			if len(q) > 0 {
				mixed, queues[i] = append(mixed, q[0]), q[1:]
			}
		}
	}
	return mixed
}

// trial is one call of Try.
type trial struct {
	*plane
	left   map[*kind][]choice
	stored map[*kind]int
	// healthy and malformed are how long healthy objects took beside as many others that were healthy, or malformed.
	healthy, malformed map[*kind][]time.Duration
	results            []Result
	files              int
}

func (t *trial) list() (all []Result) {
	for _, k := range t.kinds {
		for _, c := range t.left[k][:min(len(t.left[k]), t.Most)] {
			all = append(all, Result{Operator: k.Operator, Kind: k.name, Name: c.Name()})
		}
	}
	return all
}

// rounds runs rounds until enough of each kind was stored, or none is left.
func (t *trial) rounds(ctx context.Context) error {
	t.stored = map[*kind]int{}
	began := time.Now()
	for n := 0; ; n++ {
		r := &round{plane: t.plane}
		for _, k := range t.kinds {
			size := min(t.Round, t.Most-t.stored[k], len(t.left[k]))
			for _, c := range t.left[k][:max(size, 0)] {
				if err := t.add(r, k, c); err != nil {
					return err
				}
			}
			t.left[k] = t.left[k][max(size, 0):]
		}
		if len(r.objects) == 0 {
			break
		}
		if n%betweenHealthy == 0 && t.Most >= 2*t.Round && len(r.objects) >= t.Round { // the last rounds are small
			if err := t.crowd(ctx); err != nil {
				return err
			}
		}
		found, err := r.run(ctx)
		t.take(r, found)
		collect(t.malformed, r.canaries)
		if err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
		t.Say("G7: round %d, %d objects, %d failures so far, %v: %s", n+1, len(r.objects), t.failures(), time.Since(began).Round(time.Second), strings.Join(r.phases, ", "))
	}
	t.compare()
	return nil
}

// betweenHealthy is how many rounds of malformed objects there are for each round of healthy ones.
const betweenHealthy = 4

// crowd runs a round of valid objects instead of malformed ones. The times of healthy objects beside them are the basis of the
// comparison. All checks of other rounds apply to it, too.
func (t *trial) crowd(ctx context.Context) error {
	r := &round{plane: t.plane}
	for _, k := range t.kinds {
		for i := range t.Round {
			if err := t.add(r, k, choice{i % len(k.Valid), mutation.None()}); err != nil {
				return err
			}
		}
	}
	before := len(t.results)
	found, err := r.run(ctx)
	t.take(r, found)
	t.results = slices.DeleteFunc(t.results[:len(t.results):len(t.results)], func(r Result) bool {
		return strings.HasSuffix(r.Name, mutation.None().Name()) && len(r.Violations) == 0
	})
	for _, k := range t.kinds {
		t.stored[k] -= min(t.stored[k], t.Round)
	}
	collect(t.healthy, r.canaries)
	if err != nil {
		return fmt.Errorf("a round of healthy objects: %w", err)
	}
	t.Say("G7: as many healthy objects, %d failures: %s", len(t.results)-before, strings.Join(r.phases, ", "))
	return nil
}

func collect(all, more map[*kind][]time.Duration) {
	for k, took := range more {
		all[k] = append(all[k], took...)
	}
}

// add adds an object to a round. A mutation that is tried alone is tried in each way.
func (t *trial) add(r *round, k *kind, c choice) error {
	ways := []way{[]way{before, beside, edited}[t.names%3]}
	if t.Most == 1 {
		ways = []way{before, beside, edited}
	}
	for _, w := range ways {
		t.names++
		o, err := newObject(k, c, w, scenario.Places{Namespace: space(t.names), Elsewhere: farSpace}, fmt.Sprintf("m%06d", t.names))
		if err != nil {
			return err
		}
		r.objects = append(r.objects, o)
	}
	return nil
}

func (t *trial) failures() (n int) {
	for _, r := range t.results {
		if len(r.Violations) > 0 {
			n++
		}
	}
	return n
}

// take collects the results of a round.
func (t *trial) take(r *round, found []string) {
	for _, o := range r.objects {
		result := Result{Operator: o.Operator, Kind: o.kind.name, Name: o.choice.Name(), Refused: o.refusal != ""}
		if !result.Refused {
			t.stored[o.kind]++
		}
		if !o.settled.IsZero() {
			result.Settled = o.settled.Sub(o.stored)
		}
		for _, text := range o.found {
			result.Violations = append(result.Violations, oracle.Violation{Oracle: "O5", Text: text})
		}
		if len(o.found) > 0 {
			result.Evidence = t.evidence(o, r.sight.see(o.uid))
		}
		t.results = append(t.results, result)
	}
	for _, text := range found {
		t.results = append(t.results, Result{Operator: r.objects[0].Operator, Kind: "all", Name: "stored together", Violations: []oracle.Violation{{Oracle: "O3", Text: text}}})
	}
}

// compare compares healthy objects beside malformed ones with those beside as many healthy ones (O8).
func (t *trial) compare() {
	for _, k := range t.kinds {
		without, with := t.healthy[k], t.malformed[k]
		t.Say("G7: healthy %s came to their end after %v beside malformed objects, after %v beside healthy ones (medians of %d and %d)", k.name,
			oracle.Quantile(with, 0.5).Round(time.Millisecond), oracle.Quantile(without, 0.5).Round(time.Millisecond), len(with), len(without))
		if !t.Busy && oracle.Slower(without, with) {
			t.results = append(t.results, Result{Operator: k.Operator, Kind: k.name, Name: "healthy objects beside", Violations: []oracle.Violation{{Oracle: "O8", Text: "they are slower than beside as many healthy ones"}}})
		}
	}
}

// evidence writes what is known of an object to a file, and returns its name.
func (t *trial) evidence(o *object, s seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "G7/%s/%s\n%s in %s, %v\n\n", o.kind.name, o.choice.Name(), o.id(), o.places.Namespace, o.way)
	for _, text := range o.found {
		fmt.Fprintf(&b, "%s\n", clip(text, 4000))
	}
	text := body(o.spoiled, "")
	fmt.Fprintf(&b, "\nthe object, %d bytes\n%s\n", len(text), clip(strings.ToValidUTF8(string(text), "?"), 8000))
	if o.said != nil {
		fmt.Fprintf(&b, "\nwhat the converter says of it\nrejection %+v\nwarnings %v\n", o.said.Rejection, o.said.Warnings)
	}
	if s.object != nil {
		fmt.Fprintf(&b, "\nwhat the cluster shows: %d versions, gone %v, metadata %v\nstatus %v\n", s.versions, s.gone, clip(fmt.Sprint(s.object.Object["metadata"]), 2000), clip(fmt.Sprint(s.object.Object["status"]), 4000))
	}
	for _, e := range s.events {
		fmt.Fprintf(&b, "%s %s %s (%d times): %s\n", e.kind, e.reason, e.path, e.count, clip(e.message, 500))
	}
	for _, p := range t.programs {
		if slices.Contains(p.operators, o.Operator) {
			fmt.Fprintf(&b, "\nthe operator's log: %s\n", p.log)
		}
	}
	t.files++
	file := filepath.Join(t.Dir, fmt.Sprintf("malformed-%03d.txt", t.files))
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return "cannot be written: " + err.Error()
	}
	return file
}

func clip(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

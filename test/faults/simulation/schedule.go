package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"stoic/controller"
	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/operator"
)

// Outcome is the result of one schedule.
type Outcome struct {
	Seed       uint64
	Steps      int // the adversary's and the fair ones
	Writes     int // of the operator, if they changed something
	Crashes    int
	Faults     map[string]int
	Violations []string
	Trace      []string
	Hash       uint64 // of the trace
}

// schedule is one run: a job, its model, the processes of the operator, and the adversary.
type schedule struct {
	Outcome
	*gate
	rng      *rand.Rand
	profile  profile
	manifest *manifest
	user     user
	evidence evidence
	begin    time.Time

	processes []*process // all that ever ran
	running   []*process

	// intercept corrupts the operator's work, to test whether the judge notices; nil except in tests of the judge.
	intercept func(*request) (apimodel.Answer, bool)
}

// Run runs the schedule of a seed in its own bubble.
func Run(t *testing.T, seed uint64) Outcome { return run(t, seed, nil) }

func run(t *testing.T, seed uint64, intercept func(*request) (apimodel.Answer, bool)) (outcome Outcome) {
	synctest.Test(t, func(*testing.T) {
		s := newSchedule(seed)
		s.intercept = intercept
		s.run()
		outcome = s.finish()
	})
	return outcome
}

func newSchedule(seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 0x5701c))
	m := drawManifest(rng)
	s := &schedule{Outcome: Outcome{Seed: seed, Faults: map[string]int{}}, rng: rng, manifest: m, profile: drawProfile(rng), begin: time.Now(),
		gate:     &gate{model: apimodel.New(time.Now, resources(m.kind)...), arrived: make(chan struct{}, 1)},
		evidence: evidence{malformed: map[string]string{}}}
	s.user = user{schedule: s}
	return s
}

func resources(kind *training.Kind) []apimodel.Resource {
	r := kind.Resource()
	all := []apimodel.Resource{
		{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Status: true, Namespaced: true},
		{Version: "v1", Plural: "pods", Kind: "Pod", Status: true, Namespaced: true},
		{Version: "v1", Plural: "services", Kind: "Service", Status: true, Namespaced: true},
		{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true},
	}
	for _, d := range kind.DependentKinds {
		all = append(all, apimodel.Resource{Group: d.Group, Version: d.Version, Plural: d.Plural, Kind: d.Kind, Status: d == training.Autoscalers(), Namespaced: true})
	}
	return all
}

// note writes one line of the trace.
func (s *schedule) note(format string, values ...any) {
	s.Trace = append(s.Trace, fmt.Sprintf("%7.1fs v%d ", time.Since(s.begin).Seconds(), s.model.Version())+fmt.Sprintf(format, values...))
}

func (s *schedule) violated(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	if slices.Contains(s.Violations, text) {
		return
	}
	s.Violations = append(s.Violations, text)
	s.note("VIOLATION %s", text)
}

// run runs the whole schedule: the adversary's steps, then the fair ones.
func (s *schedule) run() {
	s.note("%s", s.manifest.object())
	s.user.create()
	s.start()
	if s.profile.warm {
		s.warmUp()
	}
	for range s.profile.steps {
		s.settle()
		s.adversary()
	}
	s.settle()
	s.fair()
	s.judge()
}

// warmUp lets the first process read everything.
func (s *schedule) warmUp() {
	for range 6 { // at most three requests for each watch, all in parallel
		s.settle()
		for _, q := range s.requests() {
			if !q.writes() {
				s.reply(q, s.serve(q, false), nil)
			}
		}
	}
}

// settle waits until nothing moves in any process.
func (s *schedule) settle() {
	synctest.Wait()
	s.Steps++
}

// start runs one more process of the operator.
func (s *schedule) start() {
	p := &process{id: len(s.processes), gate: s.gate, failures: map[string]int{}, done: make(chan struct{})}
	c, err := controller.New(controller.Options{
		Config: &rest.Config{Host: "http://model", QPS: -1, Transport: apimodel.Transport(p.send), ContentConfig: rest.ContentConfig{ContentType: jsonType}},
		Name:   operator.Name, Watches: operator.Watches([]*training.Kind{s.manifest.kind}, operator.NewMetrics(prometheus.NewRegistry())),
		Workers: 1, EventQPS: -1, Identity: "me", Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		panic(fmt.Sprintf("make the controller: %v", err)) // these options work
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.done)
		if err := c.Run(ctx); err != nil {
			panic(fmt.Sprintf("a process without an election ended by itself: %v", err))
		}
	}()
	s.processes = append(s.processes, p)
	s.running = append(s.running, p)
	s.note("process %d starts", p.id)
}

// crash ends a process at its current point. Its goroutines run on for a while, but nothing that they do reaches the model.
func (s *schedule) crash(p *process) {
	s.note("process %d dies", p.id)
	s.Crashes++
	s.kill(p)
	s.running = slices.DeleteFunc(s.running, func(other *process) bool { return other == p })
}

// finish ends all processes and waits for their goroutines: a bubble cannot end before they do.
func (s *schedule) finish() Outcome {
	for _, p := range s.running {
		s.kill(p)
	}
	for _, p := range s.processes {
		<-p.done
	}
	sum := fnv.New64a()
	sum.Write([]byte(strings.Join(s.Trace, "\n"))) // never fails
	s.Hash = sum.Sum64()
	return s.Outcome
}

// request sends one request of a client other than the operator: the user, a kubelet.
func (s *schedule) request(who, method, path, contentType string, body []byte) int {
	r, err := http.NewRequest(method, "http://model"+path, strings.NewReader(string(body)))
	if err != nil {
		panic(fmt.Sprintf("make a request: %v", err)) // method and path are ours
	}
	r.Header.Set("Content-Type", contentType)
	code, answer := s.model.Do(r)
	s.note("%s: %s %s %s -> %d", who, method, path, body, code)
	if code >= 400 && code != http.StatusNotFound && code != http.StatusConflict {
		panic(fmt.Sprintf("seed %d: %s: %s %s %s: %s", s.Seed, who, method, path, body, answer))
	}
	return code
}

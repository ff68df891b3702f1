package cache

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"stoic/controller/lean"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/schema"
)

func newTestAvailability(kind string) *availability {
	return newAvailability(kind, true, zap.NewNop(), serve.NewMetrics(prometheus.NewRegistry(), "test"))
}

// TestWatchEndsWithTheResource: a CRD that was deleted and recreated holds other objects, so a new watch begins immediately. client-go
// would wait longer each time that this happens. A built-in resource is never gone.
func TestWatchEndsWithTheResource(t *testing.T) {
	gone := apierrors.NewNotFound(runtimeschema.GroupResource{Resource: "tfjobs"}, "")
	expired := apierrors.NewResourceExpired("too old resource version")
	for _, c := range []struct {
		err           error
		builtin, ends bool
	}{
		{gone, false, true}, {expired, false, true}, {errors.New("connection reset"), false, false},
		{gone, true, false}, {expired, true, false},
	} {
		a := newTestAvailability("TFJob")
		a.builtin = c.builtin
		a.served = func(context.Context) (bool, error) { return true, nil }
		ended := make(chan struct{})
		limit := 200 * time.Millisecond // nothing may happen, which is no condition to wait for
		if c.ends {
			limit = patient
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		a.watch = func(watching context.Context, report func(error)) {
			report(c.err)
			<-watching.Done()
			if ctx.Err() == nil {
				close(ended)
			}
		}
		a.once(ctx)
		select {
		case <-ended:
			if !c.ends {
				t.Errorf("the watch ended with %v (built-in: %v)", c.err, c.builtin)
			}
		default:
			if c.ends {
				t.Errorf("the watch did not end with %v", c.err)
			}
		}
		cancel()
	}
}

// TestAbsenceIsReportedAfterAnError: the API server fails when it is first asked, and then says that it does not serve the resource.
// Absence is reported then, once, and again after the resource was served.
func TestAbsenceIsReportedAfterAnError(t *testing.T) {
	a := newTestAvailability("PodGroup")
	down := apierrors.NewServiceUnavailable("starting")
	answers := []struct {
		served bool
		err    error
		want   int // how often absence was reported after the answer
		absent bool
	}{
		{false, down, 0, false},
		{false, nil, 1, true},
		{false, nil, 1, true},
		{false, down, 1, true}, // what was said before holds
		{true, nil, 1, false},
		{false, down, 1, false},
		{false, nil, 2, true},
	}
	reported, asked := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	a.pause = func(context.Context, time.Duration) {
		if want := answers[asked-1]; reported != want.want || a.absent.Load() != want.absent {
			t.Errorf("after answer %d: reported %d times, want %d; absent: %v, want %v", asked, reported, want.want, a.absent.Load(), want.absent)
		}
		if asked == len(answers) {
			cancel()
		}
	}
	a.watch = func(context.Context, func(error)) {}
	a.served = func(context.Context) (bool, error) {
		asked++
		return answers[asked-1].served, answers[asked-1].err
	}
	a.run(ctx, func() { reported++ })
	if asked != len(answers) {
		t.Errorf("asked %d times, want %d", asked, len(answers))
	}
}

// TestDoubtIsResolvedByAQuestion: after an error that may mean anything the API server is asked immediately, and the watch ends if the
// resource is not served, which is logged unless objects are served in another version. An API server that does not answer changes nothing.
func TestDoubtIsResolvedByAQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		served, yields bool
		err            error
		ends           bool
		logged         int
	}{
		"served": {served: true}, "not served": {ends: true, logged: 1}, "another version is served": {yields: true, ends: true},
		"no answer": {err: errors.New("down")},
	} {
		t.Run(name, func(t *testing.T) {
			a := newTestAvailability("TFJob")
			core, logged := observer.New(zap.InfoLevel)
			a.log = zap.New(core)
			a.yields.Store(c.yields)
			asked := make(chan struct{})
			a.served = func(context.Context) (bool, error) {
				close(asked)
				return c.served, c.err
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := false
			limit := 100 * time.Millisecond // nothing may happen, which is no condition to wait for
			if c.ends {
				limit = patient
			}
			a.watch = func(watching context.Context, report func(error)) {
				report(errors.New("connection reset"))
				<-asked
				select {
				case <-watching.Done():
					ended = true
				case <-time.After(limit):
				}
				cancel()
			}
			a.once(ctx)
			if ended != c.ends {
				t.Errorf("ended: %v, want %v", ended, c.ends)
			}
			if n := logged.FilterMessage("the API server has stopped serving this kind").Len(); n != c.logged {
				t.Errorf("logged %d times, want %d: %v", n, c.logged, logged.All())
			}
		})
	}
}

// TestServedIsAskedAboutOnOccasion: while the watch of a resource continues, the API server is not asked whether it serves it. It is
// asked when the watch was interrupted or renewed, as a CRD that is changed ends it, and once more a while after that, as discovery may
// be late. What lacks something, is an alternative or has one, is checked all the time.
func TestServedIsAskedAboutOnOccasion(t *testing.T) {
	type look struct{ lacking, alternative, contested bool }
	for _, c := range []struct {
		look
		reports []error         // at the start of the watch
		want    []time.Duration // after which it is asked once more, until it no longer is
	}{
		{want: []time.Duration{recheckServed, 0, 0}},
		{reports: []error{nil}, want: []time.Duration{recheckServed, recheckServed, 0, 0}},
		{reports: []error{errors.New("connection reset")}, want: []time.Duration{recheckServed, recheckServed, 0, 0}},
		{look: look{lacking: true}, want: []time.Duration{recheckAbsent, recheckAbsent, recheckAbsent}},
		{look: look{alternative: true}, want: []time.Duration{recheckServed, recheckServed, recheckServed}},
		{look: look{contested: true}, want: []time.Duration{recheckServed, recheckServed, recheckServed}},
	} {
		a := newTestAvailability("TFJob")
		a.alternative, a.contested = c.alternative, c.contested
		a.lacking.Store(c.lacking)
		asked, waits, ticks := make(chan struct{}, 10), make(chan time.Duration, 10), make(chan time.Time)
		a.served = func(context.Context) (bool, error) { asked <- struct{}{}; return true, nil }
		a.after = func(d time.Duration) <-chan time.Time { waits <- d; return ticks }
		doubts := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.recheck(ctx, func() { t.Error("stopped") }, doubts); close(ended) }()
		var got []time.Duration
		for i := range c.want {
			if c.want[i] == 0 {
				select { // it waits for nothing but a doubt
				case d := <-waits:
					got = append(got, d)
				default:
					got = append(got, 0)
				}
				continue
			}
			got = append(got, <-waits)
			if i < len(c.reports) {
				doubts <- struct{}{}
			} else {
				ticks <- time.Time{}
			}
			<-asked
		}
		cancel()
		<-ended
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: asked again after (-want +got):\n%s", c, diff)
		}
	}
}

// TestServedIsPublished: there is a gauge for what may stop being served. There is none for what is always served, for what is not
// watched, or for one of several versions: such a gauge could report 0 forever.
func TestServedIsPublished(t *testing.T) {
	registry := prometheus.NewRegistry()
	from := Source{Metrics: serve.NewMetrics(registry, "test"), Log: zap.NewNop()}
	slim := func(*lean.Object) any { return nil }
	typed, err := lean.NewClients(&rest.Config{Host: "http://127.0.0.1:0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	NewObjects(from, widgets(), nil, Handlers{})
	NewDependents(from, typed, &watch.Owned{Resource: schema.Pods(), SlimTyped: slim}, nil, nil)
	NewDependents(from, nil, &watch.Owned{Resource: schema.Secrets(), Unwatched: true}, nil, nil)
	NewDependents(from, nil, &watch.Owned{Resource: schema.Resource{Version: "v1", Kind: "Version"}, Alternative: true}, nil, nil)
	NewDependents(from, nil, &watch.Owned{Resource: schema.Resource{Version: "v1", Kind: "Group"}, Optional: true}, nil, nil)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "test_kind_served" {
				got = append(got, m.GetLabel()[0].GetValue())
			}
		}
	}
	if diff := cmp.Diff([]string{"Group", "Widget"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

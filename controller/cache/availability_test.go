package cache

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/controller/consistency"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

func newTestAvailability(kind string) *availability {
	return newAvailability(kind, true, zap.NewNop(), serve.NewMetrics(prometheus.NewRegistry(), "test"))
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
				limit = server.Patience
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

func TestRetryTransient(t *testing.T) {
	resource := runtimeschema.GroupResource{Resource: "tfjobs"}
	tooLarge := apierrors.NewTimeoutError("Too large resource version: 9, current: 1", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for want, errs := range map[bool][]error{
		true: {errors.New("connection refused"), apierrors.NewInternalError(errors.New("x")), apierrors.NewServiceUnavailable("x"),
			apierrors.NewTooManyRequests("x", 0)},
		false: {nil, tooLarge, apierrors.NewNotFound(resource, "x"), apierrors.NewForbidden(resource, "x", nil),
			apierrors.NewResourceExpired("x"), apierrors.NewBadRequest("x")},
	} {
		for _, err := range errs {
			if got := isTransient(err); got != want {
				t.Errorf("%v is transient: %v, want %v", err, got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	reported, asked := 0, 0
	_, err := retryTransient(ctx, func(error) { reported++; cancel() }, func() (int, error) { asked++; return 0, errors.New("down") })
	if err == nil || reported != 1 || asked != 2 {
		t.Errorf("stopped between two tries: %v, reported %d times, asked %d times", err, reported, asked)
	}
}

// TestInterruptedWatchIsLoggedOnce: a watch that fails every few seconds for hours is one log line, another for each other reason, and a
// reminder. Each failure is counted.
func TestInterruptedWatchIsLoggedOnce(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	a := newTestAvailability("TFJob")
	a.log, a.builtin = zap.New(core), true
	now := time.Unix(1_800_000_000, 0)
	a.now = func() time.Time { return now }
	forbidden := apierrors.NewForbidden(runtimeschema.GroupResource{Resource: "tfjobs"}, "", errors.New("no"))
	a.watch = func(_ context.Context, report func(error)) {
		for range 400 { // 20 minutes
			report(errors.New("connection refused"))
			now = now.Add(3 * time.Second)
		}
		report(forbidden)
		report(forbidden)
		report(nil)
		report(nil)
		report(forbidden)
	}
	a.once(t.Context())
	var said []string
	for _, line := range logged.FilterMessage("the watch was interrupted").All() {
		said = append(said, line.ContextMap()["error"].(string))
	}
	if want := []string{"connection refused", "connection refused", forbidden.Error(), forbidden.Error()}; !slices.Equal(said, want) {
		t.Errorf("logged %q, want %q", said, want)
	}
	if n := testutil.ToFloat64(a.watchErrors); n != 403 {
		t.Errorf("%v failures are counted, want 403", n)
	}
}

// TestReadyWhileAllIsListedAgain: an API server answers 410 to a watch that it has no history for, as after its own restart. All is then
// listed again. The process has read it once and is as ready as while a watch lags. It is not ready while its resource is served again
// after an absence, or has not been read at all.
func TestReadyWhileAllIsListedAgain(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{})
	source, _ := s.source(t, "")
	ignore := func(*convert.Result) {}
	objects := NewObjects(source, widgets(), headOnly, Handlers{Added: ignore, Updated: func(_, _ *convert.Result) {}, Deleted: ignore, Replaced: ignoreReplaced})
	dependents := newTestDependents(t, s, "", &watch.Owned{Resource: widgets()}, nil)
	noPause := func(ctx context.Context, _ time.Duration) { pause(ctx, 5*time.Millisecond) }
	objects.pause, dependents.pause = noPause, noPause
	caches := map[string]func() bool{"objects": objects.Ready, "dependents": dependents.Ready}
	lists, failing := atomic.Int64{}, false
	unreadable := func(q server.Request) int {
		switch {
		case !failing || q.Resource != "widgets":
			return 0
		case q.Watch && !q.URL.Query().Has("sendInitialEvents"):
			return http.StatusGone
		}
		lists.Add(1)
		return http.StatusServiceUnavailable
	}
	s.Locked(func() { s.fail = unreadable; failing = true })
	server.Background(t, objects.Serve)
	server.Background(t, dependents.Serve)
	server.Await(t, "lists that fail", func() bool { return lists.Load() > 2 })
	for name, ready := range caches {
		if ready() {
			t.Errorf("%s are ready although they were never read", name)
		}
	}
	s.Locked(func() { failing = false })
	for name, ready := range caches {
		server.Await(t, name+" to be ready", ready)
	}
	server.Await(t, "the watches", func() bool { return watching(s) && objects.Get("ns/a") != nil && dependents.Known() })
	s.put(widgetsPath+"b", map[string]any{}) // after a watch that had no event a reflector lists again anyway, without 410
	server.Await(t, "the event", func() bool {
		return objects.Get("ns/b") != nil && consistency.Reached(dependents.Version(), objects.Version())
	})
	lists.Store(0)
	s.Locked(func() { failing = true; s.Cut() })
	server.Await(t, "both caches to be filled again", func() bool {
		for name, ready := range caches {
			if !ready() {
				t.Fatalf("%s are not ready while they are listed again", name)
			}
		}
		return lists.Load() > 4 && objects.informer.Load() != nil && objects.Get("ns/a") == nil && !dependents.Known()
	})
	s.Locked(func() { failing = false })
	server.Await(t, "what was listed again", func() bool { return objects.Get("ns/a") != nil && dependents.Known() })

	s.Locked(func() { s.Unserve("widgets"); s.Cut() })
	server.Await(t, "absence", func() bool { return objects.absent.Load() && dependents.absent.Load() })
	s.Locked(func() { s.serve(widgets(), true); failing = true })
	for name, ready := range caches {
		server.Await(t, name+" not to be ready after an absence", func() bool { return !ready() })
	}
}

// TestExpiredWatchIsResumedAtOnce: after 410 to a watch that has lasted, the next one begins without a pause. A watch that ends as soon
// as it begins is not started more often than every recheckAbsent, nor is one of a resource that may be gone.
func TestExpiredWatchIsResumedAtOnce(t *testing.T) {
	a := newTestAvailability("TFJob")
	now := time.Unix(1000, 0)
	a.now = func() time.Time { return now }
	a.served = func(context.Context) (bool, error) { return true, nil }
	ctx, stop := context.WithCancel(t.Context())
	expired := apierrors.NewResourceExpired("too old resource version")
	gone := apierrors.NewNotFound(runtimeschema.GroupResource{Resource: "tfjobs"}, "")
	ends := []error{expired, expired, expired, expired, gone, expired}
	lasts := []time.Duration{time.Hour, 0, recheckAbsent, recheckAbsent - 1, time.Hour, time.Hour}
	want := []time.Duration{0, recheckAbsent, 0, recheckAbsent, recheckAbsent, 0}
	watched := 0
	a.watch = func(_ context.Context, report func(error)) {
		report(ends[watched])
		now = now.Add(lasts[watched])
		watched++
	}
	paused := 0
	a.pause = func(_ context.Context, d time.Duration) {
		if d != want[paused] {
			t.Errorf("a pause of %s after a watch of %s, want %s", d, lasts[paused], want[paused])
		}
		if paused++; paused == len(lasts) {
			stop()
		}
	}
	a.run(ctx, func() {})
	if watched != len(lasts) || paused != len(lasts) {
		t.Errorf("%d watches and %d pauses", watched, paused)
	}
}

// TestAnotherVersionIsServed: only one of two versions of a resource is watched, as both would see the same objects. The log gives the
// reason once: the other version, or that the API server does not say whether it serves the other version. The model of the API server
// serves one version of a resource, so another resource represents the other version.
func TestAnotherVersionIsServed(t *testing.T) {
	s := newAPIServer(t)
	other := schema.Resource{Group: "example.org", Version: "v1beta1", Plural: "gadgets", Kind: "Gadget"}
	broken := false
	s.Locked(func() {
		s.serve(other, true)
		s.fail = func(q server.Request) int {
			if broken && q.URL.Path == "/apis/example.org/v1beta1" {
				return http.StatusServiceUnavailable
			}
			return 0
		}
	})
	source, _ := s.source(t, "")
	core, logged := observer.New(zap.InfoLevel)
	source.Log, source.Unless = zap.New(core), []schema.Resource{other}
	o := NewObjects(source, widgets(), func(*unstructured.Unstructured) *convert.Result { return nil },
		Handlers{Added: func(*convert.Result) {}, StatusServed: func() {}, Replaced: ignoreReplaced})
	o.pause = func(ctx context.Context, _ time.Duration) { pause(ctx, time.Millisecond) }
	o.after = func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { o.Serve(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })

	// A watch may end before the server is asked again, or after.
	ending := []string{"the watch was interrupted", "the API server has stopped serving this kind"}
	says := func(want ...string) {
		t.Helper()
		var got []string
		server.Await(t, "the log", func() bool {
			got = nil
			for _, entry := range logged.All() {
				if !slices.Contains(ending, entry.Message) {
					got = append(got, entry.Message)
				}
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Fatalf("logged %q, want %q", got, want)
		}
		logged.TakeAll()
	}
	says("the API server serves another version of this kind, too, and objects are served in that one")
	s.Locked(func() { broken = true })
	says("it is not known whether the API server serves this kind; asking again")
	s.Locked(func() { broken = false; s.Unserve("gadgets") })
	says("watching")
	s.Locked(func() { s.serve(other, true) })
	says("the API server serves another version of this kind, too, and objects are served in that one")
	s.Locked(func() { s.Unserve("gadgets") })
	says("watching")
	s.Locked(func() { s.Unserve("widgets") })
	says("the API server does not serve this kind; waiting for its CRD")
}

// expireWatch makes the API server answer 410 to the next watch of widgets that resumes. Before that it calls meanwhile, of which the
// watch has no event. It ends the watch that runs now.
func (s *apiServer) expireWatch(meanwhile func()) {
	var done atomic.Bool
	s.Locked(func() {
		s.fail = func(q server.Request) int {
			if q.Resource != "widgets" || !q.Watch || q.URL.Query().Has("sendInitialEvents") || done.Swap(true) {
				return 0
			}
			meanwhile()
			return http.StatusGone
		}
		s.Cut()
	})
}

// TestChildThatWentBeforeAnExpiredWatch: a child is deleted while its watch is down, and the API server has no history for the watch when
// it resumes. The new informer has never known the child. Its owner is queued nevertheless.
func TestChildThatWentBeforeAnExpiredWatch(t *testing.T) {
	s := newAPIServer(t)
	owner, other := headOf(widgets(), "ns", "owner"), headOf(widgets(), "ns", "other")
	s.put(widgetsPath+"gone", ownedBy(owner, nil))
	s.put(widgetsPath+"stays", ownedBy(other, nil))
	source, typed := s.source(t, "")
	var mu sync.Mutex
	woken := map[string]int{}
	var all atomic.Int64
	d := NewDependents(source, typed, &watch.Owned{Resource: widgets()}, func(o Owner) { mu.Lock(); defer mu.Unlock(); woken[o.Name]++ }, func() { all.Add(1) })
	server.Background(t, d.Serve)
	server.Await(t, "the watch", func() bool { return watching(s) && d.Known() })
	s.put(widgetsPath+"stays", ownedBy(other, map[string]any{"a": "b"})) // after a watch that had no event a reflector lists again anyway
	server.Await(t, "the event", func() bool { mu.Lock(); defer mu.Unlock(); return woken["other"] == 2 })
	if n := all.Load(); n != 0 {
		t.Fatalf("all were queued %d times before anything happened", n)
	}
	first := d.informer.Load()
	s.expireWatch(func() { s.Drop(widgetsPath + "gone") })
	server.Await(t, "another informer", func() bool { now := d.informer.Load(); return now != nil && now != first && d.Known() })
	server.Await(t, "all to be queued", func() bool { return all.Load() == 1 })
	if n := len(d.Of(owner).Items); n != 0 {
		t.Errorf("%d children are shown", n)
	}
}

// TestReadThatChangedBeforeAnExpiredWatch: the same for what all decisions depend on, whose first list queues no object.
func TestReadThatChangedBeforeAnExpiredWatch(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{})
	source, _ := s.source(t, "")
	var woken atomic.Int64
	d := NewReads(source, &watch.Read{Resource: widgets()}, func() { woken.Add(1) })
	server.Background(t, d.Serve)
	server.Await(t, "the watch", func() bool { return watching(s) && d.Known() })
	s.put(widgetsPath+"a", map[string]any{"spec": map[string]any{"value": "old"}})
	server.Await(t, "the event", func() bool { return woken.Load() == 1 })
	s.expireWatch(func() {
		s.Store(widgetsPath+"a", map[string]any{"spec": map[string]any{"value": "new"}})
		s.Store(widgetsPath+"b", map[string]any{})
	})
	server.Await(t, "all to be queued", func() bool { return woken.Load() == 2 })
}

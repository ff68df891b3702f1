package proxy

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSilence: a dead operator's requests are cut and not forwarded; those of the next operator pass.
func TestSilence(t *testing.T) {
	s, p := newStub(t)
	track, client := p.Follow("job"), operator(t, p)
	dying := make(chan struct{})
	track.Inject(Fault{At: 1, Act: Before(func() { <-dying })})
	ended := make(chan reported)
	for i, name := range []string{"job", "job-0"} { // the second one waits for what happens to the first
		go func() { ended <- ask(t, client, p, "POST", pods, pod(name)) }()
		await(t, "the request", func() bool { return track.Writes() == i+1 })
	}
	p.Silence()
	close(dying)
	for range 2 {
		if got := <-ended; got.Err == nil {
			t.Errorf("the dead was told %+v", got)
		}
	}
	if got := ask(t, client, p, "POST", pods, pod("job-1")); got.Err == nil {
		t.Errorf("the dead was told %+v", got)
	}
	p.Resume()
	if got := ask(t, client, p, "POST", pods, pod("job-2")); got.Code != 201 {
		t.Errorf("the running operator received %+v", got)
	}
	var faults []string
	for _, e := range track.Journal() {
		faults = append(faults, e.Name+" "+e.Fault)
	}
	if want := []string{"job before", "job-0 silence", "job-2 "}; !cmp.Equal(want, faults) {
		t.Errorf("journal %q", faults)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d reached the API server", n)
	}
}

// TestCrash: a Do that silences the proxy does not wait for itself, and no later write overtakes the crash, however many arrive
// concurrently.
func TestCrash(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(func()) Act
		want int
	}{
		"before": {func(do func()) Act { return Before(do) }, 4},
		"after":  {func(do func()) Act { return After(do) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newStub(t)
			track, client := p.Follow("job"), operator(t, p)
			track.Inject(Fault{At: 5, Act: c.act(p.Silence)})
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { ask(t, client, p, "POST", pods, pod("job-0")) })
			}
			all.Wait()
			await(t, "the crash", func() bool { times, _ := track.Fired(); return times == 1 })
			if n := len(s.requests()); n != c.want {
				t.Errorf("%d writes reached the API server, not %d", n, c.want)
			}
			for _, e := range track.Journal() {
				if e.Forwarded != (e.Number <= c.want) || e.Forwarded != (e.Code == 201) {
					t.Errorf("write %d: forwarded %t, code %d, fault %q", e.Number, e.Forwarded, e.Code, e.Fault)
				}
			}
		})
	}
}

// TestRestartInDo: a Do may start the next operator and wait for its requests.
func TestRestartInDo(t *testing.T) {
	_, p := newStub(t)
	track := p.Follow("job")
	var next reported
	track.Inject(Fault{At: 1, Act: After(func() {
		p.Silence()
		p.Resume()
		next = ask(t, operator(t, p), p, "POST", pods, pod("job-0"))
	})})
	if got := ask(t, operator(t, p), p, "POST", pods, pod("job-0")); got.Err == nil {
		t.Errorf("the dead was told %+v", got)
	}
	await(t, "the crash", func() bool { times, _ := track.Fired(); return times == 1 })
	if next.Code != 201 || track.Writes() != 2 {
		t.Errorf("the next was told %+v; %d writes", next, track.Writes())
	}
}

package proxy

import (
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// TestSilence: a dead operator's requests are cut and not forwarded; those of the next operator pass.
func TestSilence(t *testing.T) {
	s, p := newStub(t)
	track, client := p.Follow("job"), operator(t, p)
	dying := make(chan struct{})
	track.Inject(Fault{At: 1, Act: Before{Do: func() { <-dying }}})
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
		"before": {func(do func()) Act { return Before{Do: do} }, 4},
		"after":  {func(do func()) Act { return After{Do: do} }, 5},
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
	track.Inject(Fault{At: 1, Act: After{Do: func() {
		p.Silence()
		p.Resume()
		next = ask(t, operator(t, p), p, "POST", pods, pod("job-0"))
	}}})
	if got := ask(t, operator(t, p), p, "POST", pods, pod("job-0")); got.Err == nil {
		t.Errorf("the dead was told %+v", got)
	}
	await(t, "the crash", func() bool { times, _ := track.Fired(); return times == 1 })
	if next.Code != 201 || track.Writes() != 2 {
		t.Errorf("the next was told %+v; %d writes", next, track.Writes())
	}
}

// TestClose: nothing is left of a proxy, whatever was open.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("open", func(t *testing.T) {
		s, p := newStub(t)
		client := operator(t, p)
		p.Streams().Hold("pods")
		watch := begin(t, client, p, pods+"?watch=true")
		s.tell <- event("ADDED", "job-0", 5)
		ask(t, client, p, "POST", pods, pod("job-0"))
		address := p.listener.Addr().String()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		watch.mustBreak(t)
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Error("the port is open")
		}
	})
	await(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestKubeconfig: an operator that uses the file reaches the proxy.
func TestKubeconfig(t *testing.T) {
	_, p := newStub(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfigOf(file, token); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Config(), config); diff != "" {
		t.Error(diff)
	}
}

// TestUpstreamGone: without an API server the operator sees broken connections, and the journal says that nothing was forwarded.
func TestUpstreamGone(t *testing.T) {
	s, p := newStub(t)
	track, client := p.Follow("job"), operator(t, p)
	s.Close()
	if got := ask(t, client, p, "POST", pods, pod("job-0")); got.Err == nil {
		t.Errorf("told %+v", got)
	}
	if e := track.Journal()[0]; e.Forwarded || e.Code != 0 || e.Ended.IsZero() {
		t.Errorf("journal %+v", e)
	}
}

// TestBothProtocols: an operator may speak HTTP/1.1; a cut then closes the connection.
func TestBothProtocols(t *testing.T) {
	_, p := newStub(t)
	client := operator(t, p)
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	p.Follow("job").Inject(Fault{At: 1, Act: Reset{}})
	if got := ask(t, client, p, "POST", pods, pod("job-0")); got.Err == nil || !strings.Contains(got.Err.Error(), "EOF") {
		t.Errorf("told %+v", got)
	}
	if got := ask(t, client, p, "POST", pods, pod("job-0")); got.Code != 201 {
		t.Errorf("told %+v", got)
	}
}

// process returns a client that sends a name.
func process(t *testing.T, p *Proxy, name string) *http.Client {
	t.Helper()
	client := operator(t, p)
	next := client.Transport
	client.Transport = named{name, next}
	return client
}

type named struct {
	name string
	next http.RoundTripper
}

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+n.name)
	return n.next.RoundTrip(r)
}

// TestSilenceOf: one process of two dies. Its watches end and its requests are cut, those of the other pass, and a fault's Do
// knows whose request it was.
func TestSilenceOf(t *testing.T) {
	_, p := newStub(t)
	track, upper, lower := p.Follow("job"), process(t, p, "upper"), process(t, p, "lower")
	if got := track.Struck(); got != "" {
		t.Errorf("struck %q before there was a fault", got)
	}
	watches := map[string]*watching{"upper": begin(t, upper, p, pods+"?watch=true"), "lower": begin(t, lower, p, pods+"?watch=true")}
	struck := make(chan string, 1) // The client may see the cut before Do returns.
	track.Inject(Fault{At: 2, Act: Before{Do: func() {
		name := track.Struck()
		p.SilenceOf(name)
		struck <- name
	}}})
	if got := ask(t, lower, p, "POST", pods, pod("job-0")); got.Code != 201 {
		t.Errorf("before the fault: %+v", got)
	}
	if got := ask(t, upper, p, "POST", pods, pod("job-1")); got.Err == nil {
		t.Errorf("the dead was told %+v", got)
	}
	if got := <-struck; got != "upper" {
		t.Errorf("struck %q", got)
	}
	watches["upper"].mustBreak(t)
	if got := ask(t, upper, p, "POST", pods, pod("job-2")); got.Err == nil {
		t.Errorf("the dead was told %+v", got)
	}
	if got := ask(t, lower, p, "POST", pods, pod("job-3")); got.Code != 201 {
		t.Errorf("the other one was told %+v", got)
	}
	select {
	case err := <-watches["lower"].err:
		t.Errorf("the watch of the other one broke: %v", err)
	default:
	}
	p.ResumeOf("upper")
	p.ResumeOf("lower") // which was not dead
	if got := ask(t, process(t, p, "upper"), p, "POST", pods, pod("job-4")); got.Code != 201 {
		t.Errorf("the next was told %+v", got)
	}
	p.Silence()
	for name, client := range map[string]*http.Client{"upper": process(t, p, "upper"), "lower": lower, "one that was not known": process(t, p, "third")} {
		if got := ask(t, client, p, "POST", pods, pod("job-5")); got.Err == nil {
			t.Errorf("%s was told %+v with all dead", name, got)
		}
	}
	p.Resume()
	if got := ask(t, process(t, p, "lower"), p, "POST", pods, pod("job-6")); got.Code != 201 {
		t.Errorf("after all resumed: %+v", got)
	}
}

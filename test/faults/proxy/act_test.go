package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pods = "/api/v1/namespaces/ns/pods"

func pod(name string) string { return `{"metadata":{"name":"` + name + `"}}` }

// TestActs: what each act does to its write, to the operator, and to the next write.
func TestActs(t *testing.T) {
	var did int
	do := func() { did++ }
	for name, c := range map[string]struct {
		act       Act
		forwarded bool
		code      int // seen by the operator; 0: none
		did       int
	}{
		"refuse 503": {act: Refuse(503), code: 503},
		"reset":      {act: Reset},
		"drop":       {act: Drop, forwarded: true},
		"before":     {act: Before(do), did: 1},
		"after":      {act: After(do), forwarded: true, did: 1},
		"along":      {act: Along(do), forwarded: true, code: 201, did: 1},
	} {
		t.Run(name, func(t *testing.T) {
			did = 0
			s, p := newStub(t)
			track, client := p.Follow("job"), operator(t, p)
			track.Inject(Fault{At: 2, Act: c.act})
			var got []int
			for _, pod := range []string{"job-a", "job-b", "job-c"} {
				got = append(got, ask(t, client, p, "POST", pods, `{"metadata":{"name":"`+pod+`"}}`).Code)
			}
			if want := []int{201, c.code, 201}; !cmp.Equal(want, got) {
				t.Errorf("the operator saw %v, not %v", got, want)
			}
			second := track.Journal()[1]
			if second.Fault != name || second.Forwarded != c.forwarded || second.Name != "job-b" || second.Number != 2 {
				t.Errorf("the journal says %+v", second)
			}
			if c.forwarded != (second.Code == 201) || c.forwarded != (len(s.requests()) == 3) {
				t.Errorf("the API server saw %v and answered %d", s.requests(), second.Code)
			}
			if times, last := track.Fired(); times != 1 || last.IsZero() || did != c.did {
				t.Errorf("fired %d at %v, did %d", times, last, did)
			}
		})
	}
}

// TestRefusal: the Status fits the code.
func TestRefusal(t *testing.T) {
	_, p := newStub(t)
	track, client := p.Follow("job"), operator(t, p)
	for code, reason := range map[int]string{409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"} {
		track.Inject(Fault{Act: Refuse(code)})
		got := ask(t, client, p, "PUT", pods+"/job-a", pod("job-a"))
		if got.Code != code || !strings.Contains(got.Body, `"reason":"`+reason+`"`) || !strings.Contains(got.Body, `"kind":"Status"`) {
			t.Errorf("%d: told %+v", code, got)
		}
	}
}

// TestDue: which requests a fault strikes.
func TestDue(t *testing.T) {
	requests := []string{"GET", "PUT", "GET", "PUT", "PUT", "GET", "PUT"}
	for name, c := range map[string]struct {
		fault Fault
		want  []int // places of the refused
	}{
		"one":               {Fault{At: 2}, []int{4}},
		"three":             {Fault{At: 2, Times: 3}, []int{4, 5, 7}},
		"every":             {Fault{}, []int{2, 4, 5, 7}},
		"reads":             {Fault{At: 3, Reads: true}, []int{3}},
		"reads, in a row":   {Fault{At: 3, Times: 2, Reads: true}, []int{3, 4}},
		"reads, everything": {Fault{Reads: true}, []int{1, 2, 3, 4, 5, 6, 7}},
		"never":             {Fault{At: 9}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := newStub(t)
			track, client := p.Follow("job"), operator(t, p)
			c.fault.Act = Refuse(500)
			track.Inject(c.fault)
			var got []int
			for i, method := range requests {
				if ask(t, client, p, method, pods+"/job-0", pod("job-0")).Code == 500 {
					got = append(got, i+1)
				}
			}
			if !cmp.Equal(c.want, got) {
				t.Errorf("refused %v, not %v", got, c.want)
			}
			if track.Writes() != 4 {
				t.Errorf("%d writes", track.Writes())
			}
			track.Lift()
			if code := ask(t, client, p, "PUT", pods+"/job-0", pod("job-0")).Code; code != 200 {
				t.Errorf("after Lift: %d", code)
			}
			if all := track.Journal(); all[len(all)-1].Number != 5 {
				t.Errorf("numbered %d", all[len(all)-1].Number)
			}
		})
	}
}

// TestPassed: requests of no subject pass, with the credentials of the operator's user, over HTTP/2.
func TestPassed(t *testing.T) {
	s, p := newStub(t)
	track, client := p.Follow("job"), operator(t, p)
	track.Inject(Fault{Reads: true, Act: Reset})
	for _, path := range []string{"/version", "/apis", "/api/v1/namespaces/ns/pods/jobs-0", "/api/v1/nodes/n"} {
		got := ask(t, client, p, http.MethodGet, path+"?x=y", "")
		if got.Code != 200 || got.Header.Get("X-Seen-Token") != "Bearer of-the-operator" || got.Header.Get("X-Seen-Proto") != "HTTP/2.0" {
			t.Errorf("%s: told %+v", path, got)
		}
	}
	if len(track.Journal()) != 0 || len(s.requests()) != 4 {
		t.Errorf("journal %v, reached %v", track.Journal(), s.requests())
	}
}

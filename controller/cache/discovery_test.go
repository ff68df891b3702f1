package cache

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"stoic/schema"
)

// publisher answers discovery as API servers do: a group and version has a list of resources, the document of all of them an ETag. The
// clock of its client is moved by the test.
type publisher struct {
	discovery *Discovery

	mu      sync.Mutex
	now     time.Time
	serves  map[string][]metav1.APIResource // by group and version
	state   int                             // the ETag is made of it
	without bool                            // the document has no ETag
	fails   int                             // the code with which it answers all requests
	asked   []string                        // paths
	bytes   int                             // of the answers
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{serves: map[string][]metav1.APIResource{}, now: time.Unix(1767225600, 0)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	var err error
	if p.discovery, err = NewDiscovery(&rest.Config{Host: server.URL, QPS: -1}); err != nil {
		t.Fatal(err)
	}
	p.discovery.now = func() time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now = p.now.Add(time.Microsecond) // no two moments are the same
		return p.now
	}
	return p
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
	if p.fails > 0 {
		w.WriteHeader(p.fails)
		return
	}
	var answer any
	if r.URL.Path == "/apis" {
		if !p.without {
			etag := strconv.Quote(strconv.Itoa(p.state))
			w.Header().Set("ETag", etag)
			if r.Header.Get("If-None-Match") == etag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		answer = map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": []any{}}
	} else {
		version := strings.TrimPrefix(r.URL.Path, "/apis/")
		found, ok := p.serves[version]
		if !ok {
			http.NotFound(w, r)
			p.bytes += len("404 page not found\n")
			return
		}
		answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: found}
	}
	body, _ := json.Marshal(answer)
	p.bytes += len(body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// define serves a resource. If it is published, the document has changed, too.
func (p *publisher) define(r schema.Resource, published bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := r.APIVersion()
	p.serves[version] = append(p.serves[version], metav1.APIResource{Name: r.Plural, Kind: r.Kind, Namespaced: true}, metav1.APIResource{Name: r.Plural + "/status", Kind: r.Kind, Namespaced: true})
	if published {
		p.state++
	}
}

func (p *publisher) undefine(r schema.Resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.serves, r.APIVersion())
	p.state++
}

func (p *publisher) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// cost returns how many requests there were since the last call, and the bytes of their answers.
func (p *publisher) cost() (requests, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests, bytes = len(p.asked), p.bytes
	p.asked, p.bytes = nil, 0
	return requests, bytes
}

// look asks for each resource, as caches do in one round, and returns which are served.
func (p *publisher) look(t *testing.T, resources ...schema.Resource) (served []string) {
	t.Helper()
	for _, r := range resources {
		found, status, err := asks(t.Context(), p.discovery, r)
		if err != nil {
			t.Fatal(err)
		}
		if found != status {
			t.Fatalf("%s is served: %v; its status: %v", r.APIVersion(), found, status)
		}
		if found {
			served = append(served, r.APIVersion())
		}
	}
	return served
}

// settle looks until nothing has changed for a while.
func (p *publisher) settle(t *testing.T, resources ...schema.Resource) {
	t.Helper()
	for range int(settling/recheckAbsent) + 2 {
		p.look(t, resources...)
		p.pass(recheckAbsent)
	}
	p.cost()
}

func someKinds(count int) (found []schema.Resource) {
	for i := range count {
		found = append(found, schema.Resource{Group: fmt.Sprintf("g%d.example.org", i), Version: "v1", Plural: "things", Kind: "Thing"})
	}
	return found
}

// TestAbsentCostsNothing: as long as nothing changes, a round of questions for any number of absent kinds is one request, whose answer has
// no body. A kind that is defined later is served in the next round, and only what may have changed is asked for.
func TestAbsentCostsNothing(t *testing.T) {
	const rounds = 5
	for _, count := range []int{1, 3, 50} {
		p := newPublisher(t)
		absent := someKinds(count)
		p.settle(t, absent...)
		for range rounds {
			p.look(t, absent...)
			p.pass(recheckAbsent)
		}
		if requests, bytes := p.cost(); requests != rounds || bytes != 0 {
			t.Errorf("%d absent kinds: %d requests and %d bytes in %d rounds, want one request a round and no bytes", count, requests, bytes, rounds)
		}
		p.define(absent[0], true)
		if diff := cmp.Diff([]string{"g0.example.org/v1"}, p.look(t, absent...)); diff != "" {
			t.Errorf("%d absent kinds, one of which was defined (-want +got):\n%s", count, diff)
		}
		if requests, _ := p.cost(); requests != 1+count {
			t.Errorf("%d absent kinds: %d requests after a change", count, requests)
		}
	}
}

// TestHowLongAbsenceLasts: a resource is noticed in the next round after the API server publishes it; a while later if the server that
// answers knows it later than the one that publishes it; and within recheckServed if nothing is published.
func TestHowLongAbsenceLasts(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		published, answered, within time.Duration
		without                     bool
	}{
		"defined":                               {0, 0, 0, false},
		"answered before it is published":       {recheckServed, 0, recheckServed, false},
		"published before it is answered":       {0, settling / 2, settling/2 + recheckAbsent, false},
		"published by an API server of its own": {never, 0, recheckServed, false},
		"without an ETag":                       {never, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t)
			p.settle(t, widgets())
			p.without = c.without
			for took := time.Duration(0); ; took += recheckAbsent {
				if took > c.within {
					t.Fatalf("it is taken for absent for %s", took)
				}
				if c.answered <= took && p.serves[widgets().APIVersion()] == nil {
					p.define(widgets(), false)
				}
				if c.published <= took {
					p.state = 1
				}
				if p.look(t, widgets()) != nil {
					break
				}
				p.pass(recheckAbsent)
			}
		})
	}
}

// TestRecreatedUnderTheSameETag: a CRD is deleted and recreated between two questions for the ETag, which is the same before and after. The
// answer in between does not outlast the next round.
func TestRecreatedUnderTheSameETag(t *testing.T) {
	p := newPublisher(t)
	absent := someKinds(1)[0]
	p.define(widgets(), true)
	p.settle(t, absent, widgets())
	before := p.state
	p.undefine(widgets())
	if p.look(t, widgets()) != nil {
		t.Fatal("it is served")
	}
	p.define(widgets(), false)
	p.state = before
	p.pass(recheckAbsent)
	if p.look(t, absent, widgets()) == nil {
		t.Error("it is taken for absent")
	}
}

// TestNoAnswerIsRepeatedInVain: an answer is not repeated while the API server does not answer, and not because of an ETag from before.
func TestNoAnswerIsRepeatedInVain(t *testing.T) {
	p := newPublisher(t)
	p.settle(t, widgets())
	p.fails = http.StatusServiceUnavailable
	for range 3 {
		if _, _, err := asks(t.Context(), p.discovery, widgets()); err == nil {
			t.Error("an API server that is down says that something is absent")
		}
		p.pass(recheckAbsent)
	}
	p.fails = 0
	p.define(widgets(), false)
	if p.look(t, widgets()) == nil {
		t.Error("it is taken for absent")
	}
}

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"stoic/schema"
)

const (
	// recheckDocument is how long an ETag is used for all resources that are absent. It is less than recheckAbsent, so that the next round
	// of questions asks again.
	recheckDocument = recheckAbsent / 2
	// atOnce is how old an ETag may be that an answer is remembered with. If it were older, a CRD might have been deleted after the ETag was
	// read, the answer might say so, and the same ETag might be back with the same CRD.
	atOnce = 100 * time.Millisecond
	// settling is how long answers are not repeated after the document has changed: the API server that answers may be another one than
	// the one that serves the document, and may notice the change later.
	settling = 10 * time.Second
	// documentTimeout is how long the API server may take to answer whether the document has changed.
	documentTimeout = 5 * time.Second
)

// Discovery answers which resources the API server serves. All caches of a process share it.
//
// A resource that is absent is asked for again and again. As long as nothing changes, these questions cost one request in all, whose answer
// has no body: API servers publish all resources of all groups in one document with an ETag. While the ETag is the same, what was absent
// is still absent, so the last answer is repeated. When the ETag differs, the API server is asked for the resources of the group and
// version. The document itself is never read.
//
//	the last answer has the resource, or there is none               ask
//	no ETag: an old API server, no permission, no answer             ask
//	the last answer is younger than the ETag                         repeat it: another cache has just asked
//	the ETag has changed since the last answer                       ask
//	the ETag changed less than settling ago                          ask: API servers may disagree
//	the last answer is older than recheckServed                      ask: an aggregated API server publishes changes late
//	else                                                             repeat it
type Discovery struct {
	resources discovery.ServerResourcesInterfaceWithContext
	client    *http.Client
	url       string // of the document
	now       func() time.Time

	mu       sync.Mutex // guards versions
	versions map[string]*versionResources

	// asking guards document. It is held while the API server is asked.
	asking   gate
	document documentState
}

// gate lets one goroutine in at a time, as a mutex does. Whoever waits for it may give up.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() { <-g }

// documentState is what is known of the document of all resources.
type documentState struct {
	etag    string // "" is not known
	asked   time.Time
	changed time.Time // when the ETag was first seen
}

// versionResources are the resources of one group and version, by the last answer.
type versionResources struct {
	// asking is held while the API server is asked.
	asking gate
	list   *metav1.APIResourceList // nil: there is no answer
	asked  time.Time
	etag   string // of the document just before the question; "" is not known
}

// NewDiscovery makes the client. It sends no request.
func NewDiscovery(config *rest.Config) (*Discovery, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for the document of all resources: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the discovery client: %w", err)
	}
	return &Discovery{resources: discovery.ToServerResourcesInterfaceWithContext(found), client: client,
		url: found.RESTClient().Get().AbsPath("/apis").URL().String(), now: time.Now, versions: map[string]*versionResources{}, asking: newGate()}, nil
}

// resourcesOf returns what the API server serves of the group and version of a resource. The list is empty if there is no such version.
func (d *Discovery) resourcesOf(ctx context.Context, r schema.Resource) (*metav1.APIResourceList, error) {
	v := d.versionOf(r)
	if err := v.asking.enter(ctx); err != nil {
		return nil, fmt.Errorf("wait for another question for the resources of %s: %w", r.APIVersion(), err)
	}
	defer v.asking.leave()
	etag := ""
	if v.lacks(r) {
		if d.holds(v, d.documentWithin(ctx, recheckDocument)) {
			return v.list, nil
		}
		etag = d.documentWithin(ctx, atOnce).etag
	}
	v.list = nil
	v.asked = d.now()
	v.etag = etag
	list, err := d.resources.ServerResourcesForGroupVersionWithContext(ctx, r.APIVersion())
	switch {
	case apierrors.IsNotFound(err):
		list = &metav1.APIResourceList{}
	case err != nil:
		return nil, fmt.Errorf("ask for the resources of %s: %w", r.APIVersion(), err)
	}
	v.list = list
	return list, nil
}

func (d *Discovery) versionOf(r schema.Resource) *versionResources {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.versions[r.APIVersion()]
	if v == nil {
		v = &versionResources{asking: newGate()}
		d.versions[r.APIVersion()] = v
	}
	return v
}

// lacks reports whether the API server did not serve a resource when it was last asked.
func (v *versionResources) lacks(r schema.Resource) bool {
	if v.list == nil {
		return false
	}
	return !slices.ContainsFunc(v.list.APIResources, func(found metav1.APIResource) bool { return found.Name == r.Plural })
}

// holds reports whether the last answer about a version still holds.
func (d *Discovery) holds(v *versionResources, document documentState) bool {
	if document.etag == "" {
		return false
	}
	if !v.asked.Before(document.asked) {
		return true
	}
	now := d.now()
	return v.etag == document.etag && now.Sub(document.changed) >= settling && now.Sub(v.asked) < recheckServed
}

// documentWithin returns what is known of the document. It asks the API server, unless that was done within the given time.
func (d *Discovery) documentWithin(ctx context.Context, recent time.Duration) documentState {
	if d.asking.enter(ctx) != nil {
		return documentState{} // the caller has given up, which shows nothing of the API server
	}
	defer d.asking.leave()
	last := d.document
	next := documentState{asked: d.now(), changed: last.changed}
	if !last.asked.IsZero() && next.asked.Sub(last.asked) < recent {
		return last
	}
	var err error
	next.etag, err = d.etag(ctx, last.etag)
	if err != nil {
		if ctx.Err() != nil {
			return documentState{} // the caller has given up, which shows nothing of the API server
		}
		next.asked = d.now() // who has waited meanwhile does not ask again
	}
	if next.etag != last.etag {
		next.changed = next.asked
	}
	d.document = next
	return next
}

// errNoETag: the API server does not have the document, or no ETag of it.
var errNoETag = errors.New("the document of all resources has no ETag")

// etag returns the ETag of the document. If it is still the last one, the answer has no body. Else the body is not read.
func (d *Discovery) etag(ctx context.Context, last string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask for the document of all resources: %w", err)
	}
	request.Header.Set("Accept", discovery.AcceptV2)
	request.Header.Set("Accept-Encoding", "identity") // nobody needs to compress what is not read
	if last != "" {
		request.Header.Set("If-None-Match", last)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for the document of all resources: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotModified:
		_, _ = io.Copy(io.Discard, response.Body) // which is empty; the connection can be used again
		return last, nil
	case http.StatusOK:
		if etag := response.Header.Get("ETag"); etag != "" {
			return etag, nil
		}
	}
	return "", errNoETag
}

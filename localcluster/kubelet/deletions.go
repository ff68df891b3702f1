package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"stoic/localcluster/simulation"
)

// RegisterDeletions offers the transport that deletes pods by UID to clients whose kubeconfig names it. It is an
// authentication plugin in form only: that is the one place where a kubeconfig can change what a client sends.
func RegisterDeletions() error {
	d := newDeletions()
	plugin := func(string, map[string]string, rest.AuthProviderConfigPersister) (rest.AuthProvider, error) {
		return d, nil
	}
	if err := rest.RegisterAuthProviderPlugin(simulation.DeletionPlugin, plugin); err != nil {
		return fmt.Errorf("offer deletions by UID: %w", err)
	}
	return nil
}

// deletions adds to each deletion of a pod the UID of the pod that it is for. kwok names the pod alone, and tries a
// deletion again whose outcome it does not know: that can meet the successor of the pod. A real kubelet names the UID.
//
// The stage that ends a pod patches it before it deletes it, and the patch carries the UID and the condition
// simulation.DeletedCondition. What the last such patch said is what a deletion is for.
type deletions struct {
	mu  sync.Mutex
	all map[string]deletion // by the path of the pod
}

// deletion of a pod that a patch has said something of.
type deletion struct {
	uid types.UID
	// accepted: a patch of this pod was. That another one is refused, as it came from an older view, changes nothing then.
	accepted bool
}

func newDeletions() *deletions { return &deletions{all: map[string]deletion{}} }

// Login is part of what a plugin must have.
func (d *deletions) Login() error { return nil }

// WrapTransport of one client.
func (d *deletions) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return &byUID{deletions: d, next: next}
}

type byUID struct {
	*deletions
	next http.RoundTripper
}

var podPath = regexp.MustCompile(`^(/api/v1/namespaces/[^/]+/pods/[^/]+)(/status)?$`)

func (t *byUID) RoundTrip(r *http.Request) (*http.Response, error) {
	path := podPath.FindStringSubmatch(r.URL.Path)
	switch {
	case path == nil:
	case r.Method == http.MethodPatch && path[2] == "/status":
		return t.patch(r, path[1])
	case r.Method == http.MethodDelete && path[2] == "":
		return t.delete(r, path[1])
	}
	return t.send(r)
}

func (t *byUID) send(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return response, fmt.Errorf("send %s %s: %w", r.Method, r.URL.Path, err)
	}
	return response, nil
}

// patch notes which pod is about to be deleted. A patch that is refused is followed by no deletion.
func (t *byUID) patch(r *http.Request, pod string) (*http.Response, error) {
	body, err := take(r)
	if err != nil {
		return nil, err
	}
	r = with(r, body)
	if !bytes.Contains(body, []byte(`"`+simulation.DeletedCondition+`"`)) {
		return t.send(r)
	}
	var patch metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, fmt.Errorf("read the patch of %s: %w", pod, err)
	}
	t.note(pod, patch.UID)
	response, err := t.send(r)
	if err == nil && over(response.StatusCode) {
		t.answered(pod, patch.UID, response.StatusCode == http.StatusOK)
	}
	return response, err
}

// delete adds the precondition.
func (t *byUID) delete(r *http.Request, pod string) (*http.Response, error) {
	body, err := take(r)
	if err != nil {
		return nil, err
	}
	uid := t.get(pod)
	if uid == "" {
		return nil, fmt.Errorf("delete %s: no stage has said which pod is meant", pod)
	}
	options := &metav1.DeleteOptions{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, options); err != nil { // JSON or protobuf
		return nil, fmt.Errorf("read how to delete %s: %w", pod, err)
	}
	options.Preconditions = &metav1.Preconditions{UID: &uid}
	if body, err = json.Marshal(options); err != nil {
		return nil, fmt.Errorf("write how to delete %s: %w", pod, err)
	}
	r = with(r, body)
	r.Header.Set("Content-Type", "application/json")
	response, err := t.send(r)
	if err == nil && over(response.StatusCode) {
		t.forget(pod)
	}
	return response, err
}

// over: kwok does not send this request again.
func over(code int) bool {
	switch code {
	case http.StatusOK, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (d *deletions) get(pod string) types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[pod].uid
}

// note that a patch of a pod is on its way.
func (d *deletions) note(pod string, uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[pod].uid != uid {
		d.all[pod] = deletion{uid: uid}
	}
}

// answered notes what became of it.
func (d *deletions) answered(pod string, uid types.UID, accepted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case accepted:
		d.all[pod] = deletion{uid, true}
	case d.all[pod] == deletion{uid: uid}:
		delete(d.all, pod)
	}
}

func (d *deletions) forget(pod string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, pod)
}

// take the body of a request.
func take(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	return body, nil
}

// with is the request with another body: a transport may not change the one that it is given.
func with(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return r
}

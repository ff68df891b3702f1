package apimodel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// request is one parsed request.
type request struct {
	store                        *store
	namespace, name, subresource string
	query                        url.Values
	accept, contentType          string
	body                         []byte
}

// Do answers one request, and commits what it changes. For watches see Watching.
func (w *Model) Do(r *http.Request) (code int, body []byte) {
	if answer, found := w.discover(r); found {
		return http.StatusOK, answer
	}
	q, err := w.read(r)
	if err != nil {
		return refusal(err)
	}
	code, body, err = w.answer(r.Method, q)
	if err != nil {
		return refusal(err)
	}
	return code, body
}

func (w *Model) answer(method string, q *request) (int, []byte, error) {
	switch {
	case q.query.Has("dryRun"):
		return 0, nil, apierrors.NewBadRequest("the model knows no dry runs")
	case method == http.MethodGet && q.name == "":
		return w.list(q)
	case method == http.MethodGet:
		return w.get(q)
	case method == http.MethodPost && q.name == "":
		return w.create(q)
	case method == http.MethodPut && q.name != "":
		return w.put(q)
	case method == http.MethodPatch && q.name != "":
		return w.patch(q)
	case method == http.MethodDelete && q.name != "" && q.subresource == "":
		return w.deletion(q)
	}
	return 0, nil, apierrors.NewMethodNotSupported(q.store.groupResource(), strings.ToLower(method))
}

// read parses a request. Its body can be read again.
func (w *Model) read(r *http.Request) (*request, error) {
	s, namespace, rest := w.route(r.URL.Path)
	if s == nil || len(rest) > 2 || len(rest) == 2 && (rest[1] != "status" || !s.Status && !s.custom) {
		return nil, errNoSuchPath
	}
	if len(rest) == 2 && !s.Status { // for a CRD without the subresource, this is what is not found
		return nil, apierrors.NewNotFound(s.groupResource(), rest[0])
	}
	q := &request{store: s, namespace: namespace, query: r.URL.Query(),
		accept: r.Header.Get("Accept"), contentType: r.Header.Get("Content-Type")}
	if len(rest) > 0 {
		q.name = rest[0]
	}
	if len(rest) > 1 {
		q.subresource = rest[1]
	}
	if namespace == "" && s.Namespaced && (q.name != "" || r.Method == http.MethodPost) {
		return nil, errNoSuchPath
	}
	if r.Body == nil || r.Body == http.NoBody {
		return q, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body of a request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	q.body = body
	return q, nil
}

// errNoSuchPath is not a Status: the answer for a path that is not served is plain text.
var errNoSuchPath = errors.New("404 page not found\n")

// route returns the resource of a path.
func (w *Model) route(path string) (s *store, namespace string, rest []string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	group, version := "", ""
	switch {
	case len(segments) > 2 && segments[0] == "api":
		version, segments = segments[1], segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		group, version, segments = segments[1], segments[2], segments[3:]
	default:
		return nil, "", nil
	}
	if segments[0] == "namespaces" && len(segments) > 2 {
		namespace, segments = segments[1], segments[2:]
	}
	s = w.stores[segments[0]]
	if s == nil || s.withdrawn || s.Group != group || s.Version != version || namespace != "" && !s.Namespaced {
		return nil, "", nil
	}
	return s, namespace, segments[1:]
}

func (s *store) groupResource() runtimeschema.GroupResource {
	return runtimeschema.GroupResource{Group: s.Group, Resource: s.Plural}
}

func (s *store) groupKind() runtimeschema.GroupKind {
	return runtimeschema.GroupKind{Group: s.Group, Kind: s.Kind}
}

func (r Resource) apiVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

func (q *request) key() string { return q.namespace + "/" + q.name }

// find returns the object that the request names.
func (q *request) find() (*object, error) {
	if o := q.store.objects[q.key()]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(q.store.groupResource(), q.name)
}

// metadataOnly reports whether the client accepts only the metadata of the answer.
func (q *request) metadataOnly() bool { return strings.Contains(q.accept, "as=PartialObjectMetadata") }

// render renders an object in the form that the client accepts.
func (q *request) render(o *object) []byte {
	if !q.metadataOnly() {
		return o.json
	}
	return encode(map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.tree["metadata"]})
}

// refusal renders an error as the server does.
func refusal(err error) (int, []byte) {
	if errors.Is(err, errNoSuchPath) {
		return http.StatusNotFound, []byte(errNoSuchPath.Error())
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	return int(status.Code), statusBody(status)
}

func statusBody(status metav1.Status) []byte {
	status.Kind, status.APIVersion = "Status", "v1"
	return encode(status)
}

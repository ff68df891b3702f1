package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"stoic/internal/lean"
	"stoic/schema"
)

// API writes single objects of any resource. Every method sends one request. Bodies are sent as they are, so that
// fields unknown to our libraries reach the server.
type API struct{ client rest.Interface }

// NewAPI makes the client and connects to nothing.
func NewAPI(config *rest.Config) (*API, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, runtimeschema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(config)
	c.GroupVersion = &runtimeschema.GroupVersion{}
	c.APIPath = "/"
	c.ContentType = runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make the writing client: %w", err)
	}
	return &API{client}, nil
}

// path returns the segments of the URL path of a resource.
func path(r schema.Resource, namespace string, more ...string) []string {
	segments := []string{"api", r.Version}
	if r.Group != "" {
		segments = []string{"apis", r.Group, r.Version}
	}
	if !r.Cluster {
		segments = append(segments, "namespaces", namespace)
	}
	return append(append(segments, r.Plural), more...)
}

func pathOf(head *schema.Head, more ...string) []string {
	return path(head.Resource, head.Meta.Namespace, append([]string{head.Meta.Name}, more...)...)
}

// create posts o.
func (a *API) create(ctx context.Context, o schema.Object) (*metav1.ObjectMeta, error) {
	return metaOf(answered(a.client.Post().AbsPath(path(o.Resource, o.Namespace)...).
		SetHeader("Accept", lean.Accept).Body(o.Body).Do(ctx)))
}

// get reads the metadata of one object, from etcd and not from a cache.
func (a *API) get(ctx context.Context, r schema.Resource, namespace, name string) (*metav1.ObjectMeta, error) {
	return metaOf(answered(a.client.Get().AbsPath(path(r, namespace, name)...).
		SetHeader("Accept", lean.Accept).Do(ctx)))
}

// merge changes one object, or a subresource of it, by a merge patch. The patch names the resourceVersion that it was
// computed from (409 if the object has another).
func (a *API) merge(ctx context.Context, r schema.Resource, namespace string, patch []byte, name ...string) (*metav1.ObjectMeta, error) {
	return metaOf(answered(a.client.Patch(types.MergePatchType).AbsPath(path(r, namespace, name...)...).
		Param("fieldValidation", "Ignore"). // the user already knows what is malformed in the object
		SetHeader("Accept", lean.Accept).Body(patch).Do(ctx)))
}

// delete deletes one object under preconditions: its UID, and its resourceVersion if the deletion names one (409
// otherwise). Garbage collection deletes its dependents in the background.
func (a *API) delete(ctx context.Context, d schema.Deletion) (*metav1.ObjectMeta, error) {
	background := metav1.DeletePropagationBackground
	only := &metav1.Preconditions{UID: &d.UID}
	if d.ResourceVersion != "" {
		only.ResourceVersion = &d.ResourceVersion
	}
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		Preconditions:     only,
		PropagationPolicy: &background,
	})
	if err != nil {
		return nil, fmt.Errorf("write delete options: %w", err)
	}
	return metaOf(answered(a.client.Delete().AbsPath(path(d.Resource, d.Namespace, d.Name)...).
		SetHeader("Accept", lean.Accept).Body(options).Do(ctx)))
}

// stored is a status as the API server kept it.
type stored struct {
	version string
	// status is nil if the object has none.
	status json.RawMessage
}

// status replaces the whole status of an object, if the object still has the resourceVersion that the status was
// computed from (409 otherwise). It is a JSON patch: one request, no GET, and unlike a merge patch it also removes what
// others have put into the status.
func (a *API) status(ctx context.Context, head *schema.Head, version string, status any) (kept stored, _ error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": version},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return kept, fmt.Errorf("write the status as JSON: %w", err)
	}
	body, err := answered(a.client.Patch(types.JSONPatchType).AbsPath(pathOf(head, "status")...).
		Param("fieldValidation", "Ignore"). // foreign CRDs prune what they do not know; no warning is needed
		Body(patch).Do(ctx))
	if err != nil {
		return kept, err
	}
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return stored{version: answer.Metadata.ResourceVersion}, nil // what can be read is returned nevertheless
	}
	return stored{answer.Metadata.ResourceVersion, answer.Status}, nil
}

// answered returns the body of an answer, or its error. Unlike Raw's, this error holds the reason that the API server
// gives: its cause distinguishes a namespace that is being deleted from a permission that is missing.
func answered(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// metaOf reads the metadata in the answer to a request that returned body and err. Only the error of the request is
// returned: if the answer cannot be read (a Status in place of an object) the metadata is empty.
func metaOf(body []byte, err error) (*metav1.ObjectMeta, error) {
	if err != nil {
		return &metav1.ObjectMeta{}, err
	}
	answer, err := lean.Answer(body)
	if err != nil || answer == nil {
		return &metav1.ObjectMeta{}, nil
	}
	return answer, nil
}

package controller

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

	"stoic/controller/lean"
	"stoic/controller/plan"
	"stoic/schema"
)

// api writes single objects of any resource. Every method is one request; bodies go out as they are, so that
// fields which no library of ours knows reach the server.
type api struct{ client rest.Interface }

// written is what the server says of an object that was written or read.
type written struct {
	UID             types.UID
	ResourceVersion string
	// Controller is the UID of the owner that controls the object, or empty.
	Controller types.UID
	// ControllerName and ControllerKind tell an older incarnation of a job from a stranger.
	ControllerName, ControllerKind string
	Operator                       string // the label by which children are selected
	Deleting                       bool
	Restarts                       string // the ledger, as the server keeps it
}

func newAPI(config *rest.Config) (*api, error) {
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
	return &api{client}, nil
}

// path of a resource in the API server's tree.
func path(r schema.Resource, namespace string, more ...string) []string {
	segments := []string{"api", r.Version}
	if r.Group != "" {
		segments = []string{"apis", r.Group, r.Version}
	}
	return append(append(segments, "namespaces", namespace, r.Plural), more...)
}

// create posts o.
func (a *api) create(ctx context.Context, o schema.Object) (written, error) {
	return readMeta(answered(a.client.Post().AbsPath(path(o.Resource, o.Namespace)...).
		SetHeader("Accept", lean.Accept).Body(o.Body).Do(ctx)))
}

// get reads the metadata of one object, from etcd and not from a cache.
func (a *api) get(ctx context.Context, r schema.Resource, namespace, name string) (written, error) {
	return readMeta(answered(a.client.Get().AbsPath(path(r, namespace, name)...).
		SetHeader("Accept", lean.Accept).Do(ctx)))
}

// merge changes one object by a merge patch; it names the resourceVersion that it was computed from (409 otherwise).
func (a *api) merge(ctx context.Context, r schema.Resource, namespace, name string, patch []byte) (written, error) {
	return readMeta(answered(a.client.Patch(types.MergePatchType).AbsPath(path(r, namespace, name)...).
		SetHeader("Accept", lean.Accept).Body(patch).Do(ctx)))
}

// remove deletes one object if it still is the one that was seen; dependents go in the background.
func (a *api) remove(ctx context.Context, d plan.Deletion) (written, error) {
	background := metav1.DeletePropagationBackground
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		Preconditions:     &metav1.Preconditions{UID: &d.UID},
		PropagationPolicy: &background,
	})
	if err != nil {
		return written{}, fmt.Errorf("write delete options: %w", err)
	}
	return readMeta(answered(a.client.Delete().AbsPath(path(d.Resource, d.Namespace, d.Name)...).
		SetHeader("Accept", lean.Accept).Body(options).Do(ctx)))
}

// record replaces the whole status of an object if its resourceVersion still is the one that the status was
// computed from (409 otherwise), and returns its new version and the status as the server kept it, which is nil if it keeps
// something else than a status. It is a JSON patch: one call, no GET, and unlike a merge patch it also takes away what
// others have put into the status.
func (a *api) record(ctx context.Context, head *schema.Head, status *schema.Status) (version string, _ *schema.Status, _ error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": head.Meta.ResourceVersion},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return "", nil, fmt.Errorf("write the status as JSON: %w", err)
	}
	body, err := answered(a.client.Patch(types.JSONPatchType).
		AbsPath(path(head.Kind.Resource(), head.Meta.Namespace, head.Meta.Name, "status")...).
		Param("fieldValidation", "Ignore"). // foreign CRDs prune what they do not know; that is no news
		Body(patch).Do(ctx))
	if err != nil {
		return "", nil, err
	}
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Status schema.Status `json:"status"`
	}
	if err := json.Unmarshal(body, &answer); err != nil { // what can be read is there all the same
		return answer.Metadata.ResourceVersion, nil, nil
	}
	return answer.Metadata.ResourceVersion, &answer.Status, nil
}

// enter puts a ledger on an object, and touches nothing else of it, if its resourceVersion still is the one given (409
// otherwise).
func (a *api) enter(ctx context.Context, head *schema.Head, version string, ledger *schema.Ledger) (written, error) {
	text := string(schema.JSON(ledger))
	patch := schema.JSON(map[string]any{"metadata": map[string]any{
		"resourceVersion": version,
		"annotations":     map[string]string{schema.AnnotationLedger: text},
	}})
	got, err := readMeta(answered(a.client.Patch(types.MergePatchType).
		AbsPath(path(head.Kind.Resource(), head.Meta.Namespace, head.Meta.Name)...).
		Param("fieldValidation", "Ignore"). // what is odd about the object was told to its author
		SetHeader("Accept", lean.Accept).Body(patch).Do(ctx)))
	if err == nil && got.Restarts != text {
		return got, errUnkept
	}
	return got, err
}

// answered takes an answer apart. Unlike Raw's, this error holds what the API server says of the reason: its cause
// tells a namespace that is going from a permission that is missing.
func answered(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// readMeta reads the answer of a call that returned body and err. Only the call's error is returned: an answer
// that cannot be read (a Status in place of an object) is an empty one.
func readMeta(body []byte, err error) (written, error) {
	if err != nil {
		return written{}, err
	}
	answer, err := lean.Answer(body)
	if err != nil {
		return written{}, nil
	}
	w := written{UID: answer.UID, ResourceVersion: answer.ResourceVersion, Operator: answer.Labels[schema.LabelOperator],
		Deleting: answer.DeletionTimestamp != nil, Restarts: answer.Annotations[schema.AnnotationLedger]}
	if o := metav1.GetControllerOfNoCopy(answer); o != nil {
		w.Controller, w.ControllerName, w.ControllerKind = o.UID, o.Name, o.Kind
	}
	return w, nil
}

func uid(s string) types.UID { return types.UID(s) }

// fresh asks for the latest in place of "anything you have": client-go's reflector asks for resourceVersion "0" when it
// falls back from streaming, which may be answered with a past in which deleted objects live.
func fresh(o metav1.ListOptions) metav1.ListOptions {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
		o.ResourceVersionMatch = ""
	}
	return o
}

package lean

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"stoic/schema"
)

// Client lists and watches one resource, pods or services, in a namespace or in all.
type Client struct {
	rest      rest.Interface
	codec     runtime.ParameterCodec
	resource  string
	namespace string
}

// Clients are the clients of pods and of services, in all namespaces.
type Clients struct{ pods, services *Client }

// Of returns the client of pods or of services; nil for all other resources.
func (c *Clients) Of(r schema.Resource) *Client {
	switch r {
	case schema.Pods():
		return c.pods
	case schema.Services():
		return c.services
	}
	return nil
}

// NewClients makes clients that read these labels and annotations of an object, and no others; nil is all. They prefer
// protobuf unless the config says otherwise.
func NewClients(config *rest.Config, names []string) (*Clients, error) {
	scheme, version := newScheme(), corev1.SchemeGroupVersion
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &version, "/api"
	c.NegotiatedSerializer = uncopiedProtobuf(serializer.NewCodecFactory(scheme).WithoutConversion(), names)
	if c.ContentType == "" {
		c.ContentType = runtime.ContentTypeProtobuf
		c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make the client of pods and services: %w", err)
	}
	all := Client{rest: client, codec: runtime.NewParameterCodec(scheme)}
	inPods, inServices := all, all
	inPods.resource, inServices.resource = "pods", "services"
	return &Clients{&inPods, &inServices}, nil
}

// newScheme decodes pods and services as Objects.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	version := corev1.SchemeGroupVersion
	for _, kind := range []string{"Pod", "Service"} {
		scheme.AddKnownTypeWithName(version.WithKind(kind), &Object{})
		scheme.AddKnownTypeWithName(version.WithKind(kind+"List"), &List{})
	}
	metav1.AddToGroupVersion(scheme, version)
	return scheme
}

// In returns the same client for one namespace; "" is all.
func (c *Client) In(namespace string) *Client {
	in := *c
	in.namespace = namespace
	return &in
}

// List requests a list, or a page of it.
func (c *Client) List(ctx context.Context, o metav1.ListOptions) (*List, error) {
	found := &List{}
	err := c.ask(o).Do(ctx).Into(found)
	if err != nil {
		return nil, err //nolint:wrapcheck // the API server's answer says what was asked for
	}
	return found, nil
}

// Watch begins a watch. Its events hold Objects.
func (c *Client) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.ask(o).Watch(ctx)
}

func (c *Client) ask(o metav1.ListOptions) *rest.Request {
	r := c.rest.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(c.resource).VersionedParams(&o, c.codec)
	if o.TimeoutSeconds != nil {
		r = r.Timeout(time.Duration(*o.TimeoutSeconds) * time.Second)
	}
	return r
}

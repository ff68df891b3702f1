package controller_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"stoic/controller"
	"stoic/controller/program"
	"stoic/schema"
)

// FooBar keeps a ConfigMap of its own name.
type FooBar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Text string `json:"text" stoic:"required"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status,omitempty"`
}

var resource = schema.Resource{Group: "example.com", Version: "v1", Plural: "foobars", Kind: "FooBar"}

// owned is what FooBars own: ConfigMaps, of which the cache keeps the text.
var owned = &controller.Owned{Resource: schema.ConfigMaps(), Selector: "app=foobar", Slim: func(configMap *unstructured.Unstructured) any {
	text, _, _ := unstructured.NestedString(configMap.Object, "data", "text")
	return text
}, Reasons: controller.Reasons{Created: "ConfigMapCreated", CreateFailed: "ConfigMapFailed"}}

// decide is pure: what was observed in, a plan out.
func decide(foobar *FooBar, o controller.Observed) controller.Plan {
	if foobar == nil {
		return controller.Plan{Rule: "Rejected", Events: schema.RejectionEvents(o, o.Now)}
	}
	ns, name := o.Head.Meta.Namespace, o.Head.Meta.Name
	switch at := o.Child(schema.ConfigMaps(), ns, name); {
	case at == nil:
		return controller.Plan{Rule: "Create", Create: []schema.Object{{Resource: schema.ConfigMaps(), Namespace: ns, Name: name, Body: schema.JSON(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{"text": foobar.Spec.Text},
			"metadata": schema.ChildMeta(o.Head, ns, name, map[string]string{"app": "foobar"}, "")})}}}
	case at.Object != foobar.Spec.Text:
		return controller.Plan{Rule: "Update", Patch: []schema.Patch{at.Patch(schema.ConfigMaps(), map[string]any{"data": map[string]string{"text": foobar.Spec.Text}})}}
	}
	return controller.Plan{Rule: "Ready"}
}

// observe a FooBar with this spec, and ConfigMaps.
func observe(w controller.Watch, spec map[string]any, configMaps ...schema.Child) controller.Observed {
	r := w.Convert(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "FooBar",
		"metadata": map[string]any{"namespace": "here", "name": "web", "uid": "0001"}, "spec": spec}})
	return controller.Observed{Head: r.Head, Object: r.Object, Rejection: r.Rejection, Children: []schema.Children{{Resource: schema.ConfigMaps(), Items: configMaps}},
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// A Watch is a value. A test converts an object and asks for the plan, as the engine does.
func ExampleWatch() {
	w := controller.Typed(resource, decide, []*controller.Owned{owned})
	fmt.Println(w.Decide(observe(w, map[string]any{"text": "a"})).Rule)
	fmt.Println(w.Decide(observe(w, map[string]any{"text": "a"}, schema.Child{Namespace: "here", Name: "web", Object: "b"})).Rule)
	fmt.Println(w.Decide(observe(w, map[string]any{"text": "a"}, schema.Child{Namespace: "here", Name: "web", Object: "a"})).Rule)
	// Output:
	// Create
	// Update
	// Ready
}

func ExamplePlan() {
	w := controller.Typed(resource, decide, []*controller.Owned{owned})
	plan := w.Decide(observe(w, map[string]any{"text": "a"}))
	fmt.Println(plan.Rule, plan.Create[0].Name, string(plan.Create[0].Body))
	// Output: Create web {"apiVersion":"v1","data":{"text":"a"},"kind":"ConfigMap","metadata":{"labels":{"app":"foobar"},"name":"web","namespace":"here","ownerReferences":[{"apiVersion":"example.com/v1","kind":"FooBar","name":"web","uid":"0001","controller":true,"blockOwnerDeletion":true}]}}
}

// A malformed object is an observation like any other.
func ExampleObserved() {
	w := controller.Typed(resource, decide, []*controller.Owned{owned})
	o := observe(w, map[string]any{"text": int64(7)})
	fmt.Println(o.Object == nil, o.Rejection.Problems[0])
	fmt.Println(w.Decide(o).Events[0].Reason)
	// Output:
	// true spec.text: found number 7, must be a string; quote it: "7"
	// FooBarFailedValidation
}

// A plan names the generator. The password is made when the Secret is created, and is in no plan, log or event.
func ExampleGenerator() {
	secret := &controller.Owned{Resource: schema.Secrets(), Unwatched: true, Generators: map[string]controller.Generator{
		"password": func() (map[string]any, error) {
			return map[string]any{"stringData": map[string]string{"password": rand.Text()}}, nil
		}}}
	fields, err := secret.Generators["password"]()
	fmt.Println(len(fields["stringData"].(map[string]string)["password"]), err)
	// Output: 26 <nil>
}

// Most operators are a program.Program, which makes the controller. One with a main of its own makes it itself.
func ExampleController() {
	c, err := controller.New(controller.Options{Name: "foobar-operator", Config: &rest.Config{Host: "https://127.0.0.1:1"}, Workers: 4, EventQPS: 10, Identity: "me",
		Watches: []controller.Watch{controller.Typed(resource, decide, []*controller.Owned{owned})},
		Log:     zap.NewNop(), Registry: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // at once, as there is no API server
	fmt.Println(c.Run(ctx))
	// Output: <nil>
}

func ExampleTyped() {
	p := program.Program{Name: "foobar-operator", Short: "Keeps the ConfigMaps of FooBars.",
		Watches: []controller.Watch{controller.Typed(resource, decide, []*controller.Owned{owned})}}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}

// What is kept of a batch/v1 Job that a watch owns.
func ExampleJob() {
	job := controller.SlimJob(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"parallelism": int64(2)},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}}}).(controller.Job)
	fmt.Println(job.Parallelism, job.Result)
	// Output: 2 Complete
}

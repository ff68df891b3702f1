package schema_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

var (
	foobars = schema.Resource{Group: "test.example.com", Version: "v1", Plural: "foobars", Kind: "FooBar"}
	web     = &schema.Head{Resource: foobars, Meta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "0001", Generation: 2}}
	noon    = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// Every problem of an object is reported in this form.
func ExampleProblem() {
	fmt.Println(schema.Problem{Code: schema.TypeMismatch, Path: "spec.replicas", Found: `string "4"`, Want: "be an integer", Hint: "remove the quotes"})
	fmt.Println(schema.Problem{Code: schema.UnknownField, Path: "spec.replica", Hint: schema.DidYouMean("replica", []string{"replicas"}, "")})
	// Output:
	// spec.replicas: found string "4", must be an integer; remove the quotes
	// spec.replica: unknown field; did you mean "replicas"?
}

// Malformed objects have a head, too.
func ExampleHead() {
	fmt.Println(web.Key(), web.Reaches("team-a"), web.Reaches("team-b"))
	// Output: team-a/web true false
}

func rejected() schema.Observed {
	return schema.Observed{Head: web, Now: noon, Rejection: &schema.Rejection{Problems: []schema.Problem{
		{Code: schema.MissingField, Path: "spec.target", Want: "be set"}}}}
}

// A decision handles a rejection like any other observation. The condition's message says what follows and what to do.
func ExampleRejection() {
	o := rejected()
	fmt.Println(schema.Summarize(o.Rejection.Problems, o.Rejection.More, "nothing was created", "Edit the FooBar to retry."))
	// Output: 1 problem, nothing was created: [1] spec.target: must be set. Edit the FooBar to retry.
}

func ExampleObserved() {
	o := schema.Observed{Head: web, Children: []schema.Children{{Resource: schema.ConfigMaps(), Items: []schema.Child{{Namespace: "team-a", Name: "web", UID: "0002"}}}}}
	fmt.Println(len(o.Of(schema.ConfigMaps())), o.Child(schema.ConfigMaps(), "team-a", "web").UID, o.Child(schema.ConfigMaps(), "team-a", "other"))
	// Output: 1 0002 <nil>
}

// The UID and resourceVersion that were seen are preconditions of what is planned for a child.
func ExampleChild() {
	c := &schema.Child{Namespace: "team-a", Name: "web", UID: "0002", ResourceVersion: "7"}
	fmt.Println(string(c.Patch(schema.ConfigMaps(), map[string]any{"data": map[string]string{"a": "b"}}).Body))
	fmt.Println(c.Deletion(schema.ConfigMaps()).UID)
	// Output:
	// {"data":{"a":"b"},"metadata":{"resourceVersion":"7","uid":"0002"}}
	// 0002
}

// An object without controller, with the labels that an owner claims: see controller.Owned.Claims.
func ExampleCandidate() {
	owner := &schema.Head{Resource: schema.Resource{Group: "apps.example.com", Version: "v1", Plural: "webs", Kind: "Web"}}
	owner.Meta.Name, owner.Meta.UID = "shop", "0001"
	c := &schema.Candidate{Child: schema.Child{Namespace: "team-a", Name: "old", UID: "0002", ResourceVersion: "7"}}
	fmt.Println(string(c.Adopt(schema.Pods(), owner).Body))
	// Output:
	// {"metadata":{"ownerReferences":[{"apiVersion":"apps.example.com/v1","kind":"Web","name":"shop","uid":"0001","controller":true,"blockOwnerDeletion":true}],"resourceVersion":"7","uid":"0002"}}
}

// A pod made from a template, and what a decision needs to know of it when it runs.
func ExamplePod() {
	owner := &schema.Head{Resource: schema.Resource{Group: "apps.example.com", Version: "v1", Plural: "webs", Kind: "Web"}}
	owner.Meta.Namespace, owner.Meta.Name, owner.Meta.UID = "team-a", "shop", "0001"
	o := schema.PodOf(owner, "shop-0", map[string]string{"app": "shop"}, []byte(`{"spec":{"containers":[{"name":"web","image":"nginx"}]}}`))
	fmt.Println(o.Resource.Kind, o.Namespace+"/"+o.Name)
	p := schema.Pod{Labels: schema.LabelsOf(map[string]string{"app": "shop"}), Ready: true}
	fmt.Println(p.Ready && !p.Finished, p.Labels.Get("app"))
	// Output:
	// Pod team-a/shop-0
	// true shop
}

package schema_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

var (
	foobars = schema.Resource{Group: "test.example.com", Version: "v1", Plural: "foobars", Kind: "FooBar"}
	web     = &schema.Head{Resource: foobars, Meta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "0001", Generation: 2}}
	noon    = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

func ExampleResource() {
	nodes := schema.Resource{Version: "v1", Plural: "nodes", Kind: "Node", Cluster: true}
	fmt.Println(foobars.APIVersion(), nodes.APIVersion())
	// Output: test.example.com/v1 v1
}

// Every problem of an object is reported in this form.
func ExampleProblem() {
	fmt.Println(schema.Problem{Code: schema.TypeMismatch, Path: "spec.replicas", Found: `string "4"`, Want: "be an integer", Hint: "remove the quotes"})
	fmt.Println(schema.Problem{Code: schema.UnknownField, Path: "spec.replica", Hint: schema.DidYouMean("replica", []string{"replicas"}, "")})
	// Output:
	// spec.replicas: found string "4", must be an integer; remove the quotes
	// spec.replica: unknown field; did you mean "replicas"?
}

func ExampleCode() {
	fmt.Println(schema.OutOfRange.Meaning())
	fmt.Println(schema.OutOfRange.Remedy())
	// Output:
	// A number is too small or too large for its field.
	// Choose a number within the bounds that the message names.
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

// A resource that cannot be seen is not the same as one without objects.
func ExampleChildren() {
	o := schema.Observed{Children: []schema.Children{{Resource: schema.Jobs(), Unknown: true, Why: "the API server does not serve it", Absent: true}}}
	for _, c := range o.Children {
		if c.Unknown {
			fmt.Println(c.Resource.Kind + ": " + c.Why)
		}
	}
	// Output: Job: the API server does not serve it
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

func ExamplePatch() {
	c := &schema.Child{Namespace: "team-a", Name: "task", UID: "0003", ResourceVersion: "9"}
	p := c.PatchStatus(foobars, map[string]any{"phase": "Done"})
	fmt.Println(p.Subresource, string(p.Body))
	// Output: status {"metadata":{"resourceVersion":"9","uid":"0003"},"status":{"phase":"Done"}}
}

// Where the decision depends on the content of the object, resourceVersion is a precondition, too.
func ExampleDeletion() {
	c := schema.Child{Namespace: "team-a", Name: "web", UID: "0002", ResourceVersion: "7"}
	d := c.Deletion(schema.ConfigMaps())
	d.ResourceVersion = c.ResourceVersion
	fmt.Println(d.Resource.Kind, d.Namespace+"/"+d.Name, d.UID, d.ResourceVersion)
	// Output: ConfigMap team-a/web 0002 7
}

func ExampleObject() {
	o := schema.Object{Resource: schema.ConfigMaps(), Namespace: "team-a", Name: "web", Body: schema.JSON(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": schema.ChildMeta(web, "team-b", "web", map[string]string{"app": "foobar"}, "test.example.com/owner")})}
	fmt.Println(string(o.Body)) // an owner reference does not reach another namespace
	// Output: {"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"test.example.com/owner":"test.example.com/v1 FooBar team-a/web 0001"},"labels":{"app":"foobar"},"name":"web","namespace":"team-b"}}
}

func ExamplePlan() {
	type status struct {
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	}
	plan := schema.Plan{Rule: "Create", AddFinalizers: []string{"test.example.com/cleanup"}, Status: &status{ObservedGeneration: 2},
		Create: []schema.Object{{Resource: schema.ConfigMaps(), Namespace: "team-a", Name: "web"}}, Requeue: time.Minute}
	fmt.Println(plan.Rule, string(schema.JSON(plan.Status)), len(plan.Create), plan.Requeue)
	// Output: Create {"observedGeneration":2} 1 1m0s
}

// What must be on record before a deletion, and has no place in a status, is an annotation of the object.
func ExampleAnnotate() {
	plan := schema.Plan{Rule: "Restart", Annotate: &schema.Annotate{Values: map[string]string{"test.example.com/restarts": "3"}},
		Delete: []schema.Deletion{{Resource: schema.Pods(), Namespace: "team-a", Name: "web-0", UID: types.UID("0004")}}}
	fmt.Println(plan.Annotate.Values, plan.Delete[0].Name)
	// Output: map[test.example.com/restarts:3] web-0
}

// Only one of two events with the same reason, occasion and key is sent.
func ExampleEvent() {
	e := schema.Event{Type: "Normal", Reason: "Moved", Message: "3 of 5 parts are moved", Occasion: "generation 2", Key: "moving", Settle: time.Second, Since: noon}
	fmt.Println(e.Reason, e.Message)
	// Output: Moved 3 of 5 parts are moved
}

// What the API server refused to create is an observation of the next decision.
func ExampleRefusal() {
	o := schema.Observed{Refused: []schema.Refusal{{Resource: schema.ConfigMaps(), Namespace: "team-a", Name: "web", Cause: schema.CauseQuota, Message: "exceeded quota"}}}
	for _, r := range o.Refused {
		fmt.Println(r.Resource.Kind, r.Name, r.Cause, r.Message)
	}
	// Output: ConfigMap web QuotaExceeded exceeded quota
}

// A count of a plan is counted after the write that it names.
func ExampleCount() {
	c := schema.Count{Counter: "foobars_moved", After: schema.AfterStatus, Took: 3 * time.Second}
	fmt.Println(c.Counter, c.Took)
	// Output: foobars_moved 3s
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

// The labels of a cached object. Selectors match them.
func ExampleLabels() {
	l := schema.LabelsOf(map[string]string{"tier": "front", "app": "shop"})
	fmt.Println(l, l.Get("app"), l.Has("release"))
	// Output: app=shop,tier=front shop false
}

// One label of an object.
func ExampleLabel() {
	for _, label := range schema.LabelsOf(map[string]string{"app": "shop"}) {
		fmt.Println(label.Name(), label.Value)
	}
	// Output: app shop
}

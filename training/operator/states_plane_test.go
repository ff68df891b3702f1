package operator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training"
)

// plane is a model of an API server with one job. The converter and the planner work on it, as do users, kubelets and the Job
// controller. Its clock moves when wait is called.
type plane struct {
	t     *testing.T
	kind  *training.Kind
	watch watch.Watch
	model *apimodel.Model
	now   time.Time
}

func newPlane(t *testing.T, kind *training.Kind) *plane {
	p := &plane{t: t, kind: kind, watch: Watches([]*training.Kind{kind}, nil)[0], now: now}
	r := kind.Resource()
	served := []apimodel.Resource{{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Status: true, Namespaced: true}}
	for _, owned := range p.watch.Owns {
		r := owned.Resource
		status := r == schema.Pods() || r == schema.Jobs()
		served = append(served, apimodel.Resource{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Status: status, Namespaced: true})
	}
	p.model = apimodel.New(func() time.Time { return p.now }, served...)
	return p
}

func (p *plane) wait(d time.Duration) { p.now = p.now.Add(d) }

// request sends a request to the model, which must accept it.
func (p *plane) request(method, path, contentType string, body any) {
	p.t.Helper()
	text, isText := body.([]byte)
	if !isText {
		var err error
		if text, err = json.Marshal(body); err != nil {
			p.t.Fatal(err)
		}
	}
	r, err := http.NewRequest(method, "http://model"+path, strings.NewReader(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if code, answer := p.model.Do(r); code >= 300 {
		p.t.Fatalf("%s %s %s: %d %s", method, path, text, code, answer)
	}
}

const (
	asJSON  = "application/json"
	asMerge = "application/merge-patch+json"
)

func (p *plane) job() string {
	return path(p.kind.Group, p.kind.Version, p.kind.Plural, "pi")
}

// submit creates a job. worker holds fields of its workers; on names members of runPolicy that are true.
func (p *plane) submit(worker map[string]any, on ...string) {
	p.t.Helper()
	policy := map[string]any{}
	for _, member := range on {
		policy[member] = true
	}
	p.submitWith(policy, specOf(p.kind, worker))
}

// submitWith creates a job with members of runPolicy and further members of its spec.
func (p *plane) submitWith(policy, members map[string]any) {
	p.t.Helper()
	spec := specOf(p.kind, nil)
	maps.Copy(spec, members)
	if len(policy) > 0 {
		spec["runPolicy"] = policy
	}
	p.request(http.MethodPost, path(p.kind.Group, p.kind.Version, p.kind.Plural, ""), asJSON,
		map[string]any{"apiVersion": p.kind.APIVersion(), "kind": p.kind.Name, "metadata": map[string]any{"name": "pi", "namespace": "ns"}, "spec": spec})
}

func (p *plane) patch(body map[string]any) {
	p.t.Helper()
	p.request(http.MethodPatch, p.job(), asMerge, body)
}

// edit sets the number of workers.
func (p *plane) edit(replicas int64) {
	p.t.Helper()
	p.patch(workers(p.kind, "replicas", replicas))
}

func (p *plane) scale() { p.edit(3) }

// remove deletes the job in the foreground, so that its finalizer keeps it while it has pods.
func (p *plane) remove() {
	p.request(http.MethodDelete, p.job(), asJSON, map[string]any{"propagationPolicy": "Foreground"})
}

func (p *plane) stored() map[string]any {
	return (&unstructured.Unstructured{Object: p.model.Object(p.kind.Plural, "ns", "pi")}).DeepCopy().Object
}

func (p *plane) status() *training.Status {
	p.t.Helper()
	return p.watch.Convert(&unstructured.Unstructured{Object: p.stored()}).Status.(*training.Status)
}

func (p *plane) pods() []map[string]any { return p.model.Objects("pods") }

// maxReconciles is more than any scenario needs.
const maxReconciles = 20

// settle reconciles until a plan has no more writes.
func (p *plane) settle() {
	p.t.Helper()
	for range maxReconciles {
		if !p.reconcile() {
			return
		}
	}
	p.t.Fatalf("after %d reconciles there is something to write", maxReconciles)
}

func (p *plane) reconcile() (wrote bool) {
	p.t.Helper()
	result := p.watch.Convert(&unstructured.Unstructured{Object: p.stored()})
	seen := schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Now: p.now, KeepsGeneration: true}
	owners := []string{string(result.Meta.UID)}
	for _, job := range p.model.Objects("jobs") {
		owners = append(owners, apimodel.Get(job, "metadata", "uid").(string))
	}
	for _, owned := range p.watch.Owns {
		children := schema.Children{Resource: owned.Resource}
		for _, object := range p.model.Objects(owned.Resource.Plural) {
			u := &unstructured.Unstructured{Object: object}
			if o := metav1.GetControllerOf(u); !owned.Unwatched && o != nil && slices.Contains(owners, string(o.UID)) {
				children.Items = append(children.Items, p.child(u, owned))
			}
		}
		seen.Children = append(seen.Children, children)
	}
	plan := p.watch.Decide(seen)
	p.carryOut(plan)
	return plan.Status != nil || plan.Annotate != nil || len(plan.Delete)+len(plan.Patch)+len(plan.Create) > 0
}

func (p *plane) child(u *unstructured.Unstructured, owned *watch.Owned) schema.Child {
	c := childOf(p.t, u, 0, owned.Slim, owned.SlimTyped)
	c.ResourceVersion, c.Created, c.Through = u.GetResourceVersion(), u.GetCreationTimestamp().Time, ""
	if o := metav1.GetControllerOf(u); o.Kind != p.kind.Name {
		c.Through = o.UID
	}
	return c
}

// carryOut executes a plan, in the order of the engine.
func (p *plane) carryOut(plan schema.Plan) {
	p.t.Helper()
	if len(plan.AddFinalizers)+len(plan.RemoveFinalizers) > 0 {
		p.t.Fatal("a plan with finalizers")
	}
	if plan.Status != nil {
		object := p.stored()
		object["status"] = plan.Status
		p.request(http.MethodPut, p.job()+"/status", asJSON, object)
	}
	if plan.Annotate != nil {
		p.patch(map[string]any{"metadata": map[string]any{"annotations": plan.Annotate.Values}})
	}
	for _, d := range plan.Delete {
		p.request(http.MethodDelete, path(d.Resource.Group, d.Resource.Version, d.Resource.Plural, d.Name), asJSON,
			map[string]any{"preconditions": map[string]any{"uid": d.UID}})
	}
	for _, c := range plan.Patch {
		at := path(c.Resource.Group, c.Resource.Version, c.Resource.Plural, c.Name)
		if c.Subresource != "" {
			at += "/" + c.Subresource
		}
		p.request(http.MethodPatch, at, asMerge, c.Body)
	}
	for _, o := range plan.Create {
		if p.unwatched(o.Resource) && p.model.Object(o.Resource.Plural, "ns", o.Name) != nil {
			continue // such objects are created together with pods, and never read
		}
		p.request(http.MethodPost, path(o.Resource.Group, o.Resource.Version, o.Resource.Plural, ""), asJSON, []byte(o.Body))
	}
}

func (p *plane) unwatched(r schema.Resource) bool {
	return slices.ContainsFunc(p.watch.Owns, func(o *watch.Owned) bool { return o.Resource == r && o.Unwatched })
}

// run lets every pod run, and those that are created then, until none is pending.
func (p *plane) run() {
	p.t.Helper()
	for range maxReconciles {
		p.startJobs()
		waiting := 0
		for _, pod := range p.pods() {
			if apimodel.Get(pod, "status", "phase") == "Running" {
				continue
			}
			waiting++
			p.setPod(pod, map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}})
		}
		p.wait(5 * time.Second)
		p.settle()
		if waiting == 0 {
			return
		}
	}
	p.t.Fatal("some pod never runs")
}

func (p *plane) setPod(pod map[string]any, status map[string]any) {
	p.t.Helper()
	p.request(http.MethodPatch, path("", "v1", "pods", apimodel.Get(pod, "metadata", "name").(string))+"/status", asMerge, map[string]any{"status": status})
}

// exits ends the containers of a pod that have no status yet with one code.
func (p *plane) exits(pod map[string]any, code int) {
	p.t.Helper()
	phase := "Failed"
	if code == 0 {
		phase = "Succeeded"
	}
	var containers []any
	for _, c := range apimodel.Get(pod, "spec", "containers").([]any) {
		containers = append(containers, map[string]any{"name": apimodel.Get(c.(map[string]any), "name"), "restartCount": 0,
			"state": map[string]any{"terminated": map[string]any{"exitCode": code}}})
	}
	p.setPod(pod, map[string]any{"phase": phase, "containerStatuses": containers})
}

// failPods ends all pods in a way that is retried: by a signal or, for a kind without exit codes, by an eviction.
func (p *plane) failPods() {
	p.t.Helper()
	for _, pod := range slices.Clone(p.pods()) {
		switch {
		case metav1.GetControllerOf(&unstructured.Unstructured{Object: pod}).Kind == "Job":
		case p.kind.RestartPolicies != nil:
			p.setPod(pod, map[string]any{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."})
		default:
			p.exits(pod, 137)
		}
	}
}

// fail ends pods with exit code 1, one after the other, until the job is over.
func (p *plane) fail() { p.end(1, "Failed", "BackoffLimitExceeded") }

// succeed lets all pods succeed, one after the other, until the job is over.
func (p *plane) succeed() { p.end(0, "Complete", "CompletionsReached") }

func (p *plane) end(code int, batch, reason string) {
	p.t.Helper()
	for _, pod := range slices.Clone(p.pods()) {
		p.exits(pod, code)
		if owner := metav1.GetControllerOf(&unstructured.Unstructured{Object: pod}); owner.Kind == "Job" {
			p.request(http.MethodPatch, path("batch", "v1", "jobs", owner.Name)+"/status", asMerge, map[string]any{"status": map[string]any{"active": 0,
				"succeeded": 1 - code, "failed": code, "completionTime": p.now.Format(time.RFC3339),
				"conditions": []any{map[string]any{"type": batch, "status": "True", "reason": reason}}}})
		}
		p.wait(time.Second)
		p.settle()
		if s := p.status(); s.Is(training.Succeeded) || s.Is(training.Failed) {
			return
		}
	}
	p.t.Fatalf("all pods of a %s have ended with %d, and the job goes on: %+v", p.kind.Name, code, p.stored()["status"])
}

// startJobs creates the pod of each Job that has none, as the Job controller does.
func (p *plane) startJobs() {
	p.t.Helper()
	for _, job := range p.model.Objects("jobs") {
		u := &unstructured.Unstructured{Object: job}
		if apimodel.Get(job, "spec", "suspend") == true || p.model.Object("pods", "ns", u.GetName()+"-x") != nil {
			continue
		}
		template := (&unstructured.Unstructured{Object: apimodel.Get(job, "spec", "template").(map[string]any)}).DeepCopy().Object
		meta, _ := template["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["name"], meta["namespace"] = u.GetName()+"-x", "ns"
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": u.GetName(), "uid": string(u.GetUID()), "controller": true}}
		p.request(http.MethodPost, path("", "v1", "pods", ""), asJSON,
			map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]})
		p.request(http.MethodPatch, path("batch", "v1", "jobs", u.GetName())+"/status", asMerge,
			map[string]any{"status": map[string]any{"active": 1, "startTime": p.now.Format(time.RFC3339)}})
	}
}

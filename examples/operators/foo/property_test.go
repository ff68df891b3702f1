package foo

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/test/decision"
)

func web() decision.Key { return decision.Key{Kind: "Foo", Namespace: "team", Name: "web"} }

func object(apiVersion, kind, name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "team", "name": name}, "spec": spec}}
}

func create(c *decision.Cluster, spec any) bool {
	return c.Create(object(group+"/v1alpha1", "Foo", "web", spec))
}

// specs generates valid and malformed specs.
func specs() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 4).Draw(t, "malformed") == 0 {
			return rapid.SampledFrom([]any{nil, int64(7), map[string]any{}, map[string]any{"deploymentName": int64(1)}, map[string]any{"deploymentName": "a", "replicas": "3"},
				map[string]any{"deploymentName": "a", "replicas": int64(-1)}, map[string]any{"deploymentName": "A_b"}}).Draw(t, "spec")
		}
		spec := map[string]any{"deploymentName": rapid.SampledFrom([]string{"a", "b", "taken"}).Draw(t, "name")}
		if rapid.Bool().Draw(t, "replicas given") {
			spec["replicas"] = int64(rapid.IntRange(0, 3).Draw(t, "replicas"))
		}
		return spec
	})
}

// ours returns the names of the Deployments that the Foo controls.
func ours(c *decision.Cluster) (names []string) {
	for _, at := range c.Keys("Deployment") {
		if metav1.GetControllerOf(c.Now()[at]) != nil {
			names = append(names, at.Name)
		}
	}
	return names
}

// TestWhateverHappens draws a history of edits of Foos and of Deployments, of deletions, lagging caches, and crashes between any
// two writes. At the end the desired Deployment exists with the desired size, and no other one of the Foo.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &decision.Cluster{T: t, Watches: Watches()}
		// A Deployment is only deleted if another one of the Foo was observed.
		c.Deleted = func(seen decision.Objects, by, gone *unstructured.Unstructured) {
			for _, u := range seen {
				if owner := metav1.GetControllerOf(u); owner != nil && owner.UID == by.GetUID() && u.GetUID() != gone.GetUID() && u.GetDeletionTimestamp() == nil {
					return
				}
			}
			t.Fatalf("%s is deleted, and nothing has taken its place", gone.GetName())
		}
		if rapid.Bool().Draw(t, "foreign") {
			c.Create(object("apps/v1", "Deployment", "taken", map[string]any{"replicas": int64(9)}))
		}
		create(c, specs().Draw(t, "first"))
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 8).Draw(t, "step") {
			case 0:
				c.Edit(web(), "spec", specs().Draw(t, "edit"))
			case 1:
				c.Edit(web(), "status", rapid.SampledFrom([]any{nil, int64(7), map[string]any{"availableReplicas": "x"}, map[string]any{"observedGeneration": int64(99)}}).Draw(t, "status"))
			case 2:
				if names := ours(c); len(names) > 0 {
					c.Delete(decision.Key{Kind: "Deployment", Namespace: "team", Name: rapid.SampledFrom(names).Draw(t, "deleted")})
				}
			case 3:
				if names := ours(c); len(names) > 0 {
					c.Edit(decision.Key{Kind: "Deployment", Namespace: "team", Name: rapid.SampledFrom(names).Draw(t, "scaled")}, "spec", map[string]any{"replicas": int64(rapid.IntRange(0, 5).Draw(t, "to"))})
				}
			case 4:
				c.Delete(web())
				if rapid.Bool().Draw(t, "collected at once") {
					c.Collect()
				}
				create(c, specs().Draw(t, "recreated"))
			default:
				if n := len(c.Versions); c.Now()[web()] != nil {
					c.Reconcile(web(), rapid.IntRange(c.Oldest(web()), n-1).Draw(t, "as of"), rapid.IntRange(0, 4).Draw(t, "crash after"))
				}
			}
		}
		settle(c)
		seen := c.Observe(c.Now()[web()], nil)
		if seen.Rejection == nil {
			want, _ := seen.Object.(*Foo)
			u := c.Now()[decision.Key{Kind: "Deployment", Namespace: "team", Name: want.Spec.DeploymentName}]
			switch is, _ := slim(u).(state); {
			case metav1.GetControllerOf(u) == nil:
				if is.replicas != 9 {
					t.Fatalf("the Deployment of somebody else is %v", is)
				}
			case is.replicas != *want.Spec.Replicas || !slices.Equal(ours(c), []string{u.GetName()}):
				t.Fatalf("want %s with %d alone, found %v with %v", u.GetName(), *want.Spec.Replicas, ours(c), is)
			}
		}
		status, _ := seen.Head.Status.(*FooStatus)
		if stalled := schema.Condition(status.Conditions, "Stalled"); stalled == nil || (stalled.Status == metav1.ConditionTrue) != (seen.Rejection != nil) || status.ObservedGeneration != seen.Head.Meta.Generation {
			t.Fatalf("rejected: %v, and the status says %v", seen.Rejection != nil, status)
		}
		c.Delete(web())
		c.Collect()
		if names := ours(c); len(names) > 0 {
			t.Fatalf("left: %v", names)
		}
	})
}

// settle reconciles until nothing changes any more.
func settle(c *decision.Cluster) {
	for range 12 {
		c.Collect()
		before := len(c.Versions)
		c.Reconcile(web(), before-1, 1<<30)
		if len(c.Versions) == before {
			return
		}
	}
	c.T.Fatalf("no end of writes: %v", c.Now())
}

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// stepOf returns a step that is taken when a check holds, unless it is known to be done.
func stepOf(name string, isDone, when Check, do func(context.Context, Actor, history.View) error) Step {
	return Step{Name: name, When: either(isDone, when), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := isDone(view); done {
			return nil
		}
		return do(ctx, a, view)
	}}
}

// edit is the user's step: a merge patch of the object, in which {name}, {namespace} and {elsewhere} are replaced.
func edit(what string, when Check, patch string) Step {
	isDone := func(v history.View) (bool, string) {
		var wanted map[string]any
		if v.Job == nil || json.Unmarshal([]byte(fill(patch, v.Subject)), &wanted) != nil {
			return false, describe(v)
		}
		return holds(v.Job.Object, wanted), describe(v)
	}
	return stepOf(what, isDone, when, func(ctx context.Context, a Actor, v history.View) error {
		if v.Job == nil {
			return fmt.Errorf("%s: there is no job %s/%s", what, a.Namespace, a.Job)
		}
		now, err := a.Primary().Patch(ctx, a.Job, types.MergePatchType, []byte(fill(patch, v.Subject)), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("%s: patch job %s/%s: %w", what, a.Namespace, a.Job, err)
		}
		return a.Run.AwaitReported(ctx, now)
	})
}

// holds reports whether a merge patch would change nothing.
func holds(found, patch any) bool {
	wanted, isObject := patch.(map[string]any)
	object, ok := found.(map[string]any)
	if !isObject || !ok {
		return asJSON(found) == asJSON(patch)
	}
	for field, value := range wanted {
		if !holds(object[field], value) {
			return false
		}
	}
	return true
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// drop is the user's step: the deletion of the first job of that name.
func drop(propagation metav1.DeletionPropagation, when Check) Step {
	isDone := func(v history.View) (bool, string) {
		return v.Job == nil || v.Job.GetDeletionTimestamp() != nil || v.Incarnations[v.Job.GetUID()] > 1, ""
	}
	return stepOf("delete the job: "+string(propagation), isDone, when, func(ctx context.Context, a Actor, v history.View) error {
		return a.remove(ctx, v.Job, propagation)
	})
}

// createAgain is the user's step: another job of the same name, once the first no longer exists.
func createAgain(once Scenario) Step {
	isGone := func(v history.View) (bool, string) {
		return v.Job == nil || v.Incarnations[v.Job.GetUID()] == 2, describe(v)
	}
	return Step{Name: "create another of the same name", When: isGone, Do: func(ctx context.Context, a Actor) error { return a.create(ctx, once) }}
}

// end is a kubelet's step: the n-th pod of that name ends with an exit code when the check holds.
func end(name string, n int, code int64, when Check) Step {
	isDone := func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		return pod != nil && (v.Incarnations[pod.GetUID()] > n || v.Incarnations[pod.GetUID()] == n && hasEnded(pod)), describe(v)
	}
	return stepOf(fmt.Sprintf("pod %s ends with %d", name, code), isDone, all(runs(name), isNth(n, name), when), func(ctx context.Context, a Actor, v history.View) error {
		return a.conclude(ctx, v.Pod(v.Name+"-"+name), code)
	})
}

// conclude ends a pod, as its kubelet, if the pod has not changed since it was seen.
func (a Actor) conclude(ctx context.Context, pod *unstructured.Unstructured, code int64) error {
	if pod == nil {
		return fmt.Errorf("job %s/%s: the pod is gone", a.Namespace, a.Job)
	}
	phase, reason := "Succeeded", "Completed"
	if code != 0 {
		phase, reason = "Failed", "Error"
	}
	list, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, c := range list {
		container, isObject := c.(map[string]any)
		if !isObject {
			continue
		}
		container["ready"] = false
		container["started"] = false
		container["state"] = map[string]any{"terminated": map[string]any{"exitCode": code, "reason": reason, "finishedAt": time.Now().UTC().Format(time.RFC3339)}}
	}
	status := map[string]any{"phase": phase, "containerStatuses": list,
		"conditions": []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "ContainersReady", "status": "False"}}}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.GetUID(), "resourceVersion": pod.GetResourceVersion()}, "status": status})
	if err != nil {
		return fmt.Errorf("write a status: %w", err)
	}
	now, err := a.objectsLike(pod).Patch(ctx, pod.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patch the status of pod %s/%s: %w", a.Namespace, pod.GetName(), err)
	}
	return a.Run.AwaitReported(ctx, now)
}

package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// TestContract checks the parts of the contract with users of training-operator 1.9 that only an API server can show, on the
// control plane that tests share. TestWithCRDOfTrainingOperator194 has one as that operator leaves it.
func TestContract(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, shared(t), map[string]func(*testing.T, *rig){
		"time to live": timeToLiveFires,
	})
	sideBySide(t, withOperator(t), map[string]func(*testing.T, *rig){
		"deadline":                     deadlineFires,
		"foreign service":              foreignService,
		"labels edited":                labelsEdited,
		"scaled in while pods linger":  scaledIn,
		"two kinds of owner, one name": otherOwner,
		"position of the store":        positionReported,
	})
}

// endless returns a spec whose workers run until they are deleted.
func endless(policy, rtype string) string {
	if policy != "" {
		policy = "\n  runPolicy: {" + policy + "}"
	}
	return policy + strings.Replace(worker("", rtype), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
}

// awaitActive waits until so many workers are active.
func (r *rig) awaitActive(t *testing.T, ns, name string, want int32) *training.Head {
	t.Helper()
	var head *training.Head
	await(t, fmt.Sprintf("%d active workers of %s/%s", want, ns, name), func() (bool, string) {
		if head = r.head(t, ns, name); head == nil {
			return false, "no such job"
		}
		return head.Status.ReplicaStatuses["Worker"].Active == want, describe(&head.Status) + fmt.Sprint(head.Status.ReplicaStatuses)
	})
	return head
}

// reportedOnce waits until an event with a reason about a job is emitted, and checks that it is the only one, with these words.
func (r *rig) reportedOnce(t *testing.T, ns, name, reason, words string) {
	t.Helper()
	var events []event
	await(t, reason+" to be told", func() (bool, string) {
		events = slices.DeleteFunc(r.events(t, ns, name), func(e event) bool { return e.Reason != reason })
		return len(events) > 0, fmt.Sprint(r.events(t, ns, name))
	})
	if len(events) != 1 || !strings.Contains(events[0].Message, words) {
		t.Errorf("told %d times, want once with %q: %v", len(events), words, events)
	}
}

// checkKept: the same pods still exist.
func (r *rig) checkKept(t *testing.T, ns, name string, before map[string]string) {
	t.Helper()
	after := r.pods(t, ns, name)
	for pod, uid := range before {
		if after[pod] != uid {
			t.Errorf("pod %s was %s and is %q", pod, uid, after[pod])
		}
	}
}

// requestsIn returns the operator's requests in a namespace.
func (r *rig) requestsIn(t *testing.T, ns string) []audited {
	t.Helper()
	return slices.DeleteFunc(r.requests(t), func(q audited) bool { return q.ObjectRef.Namespace != ns })
}

// labelsOf returns the labels of a worker, as JSON.
func labelsOf(job string, index int) string {
	return fmt.Sprintf(`{"training.kubeflow.org/operator-name":"tfjob-controller","training.kubeflow.org/job-name":%q,`+
		`"training.kubeflow.org/replica-type":"worker","training.kubeflow.org/replica-index":"%d"}`, job, index)
}

// scaledIn: of five workers two are left, and the others take their time to stop.
func scaledIn(t *testing.T, r *rig) {
	ns := r.namespace(t, "scaled-in")
	r.serve(t, ns)
	spec := func(replicas int) string {
		return strings.Replace(endless("", fmt.Sprintf("replicas: %d", replicas)), "annotations: {}", "annotations: {simulation.stoic/terminate-after: 3s}", 1)
	}
	r.apply(t, ns, manifest("job", spec(5)))
	r.awaitActive(t, ns, "job", 5)
	before := r.pods(t, ns, "job")
	r.apply(t, ns, manifest("job", spec(2)))
	var seen []map[string]string
	await(t, "three pods to go", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		seen = append(seen, pods)
		return len(pods) == 2, fmt.Sprint(pods)
	})
	for _, pods := range seen {
		for name, uid := range pods {
			if before[name] != uid {
				t.Fatalf("pod %s was recreated", name)
			}
		}
	}
	head := r.awaitActive(t, ns, "job", 2)
	if got := describe(&head.Status); got != "Created=True(TFJobCreated) Running=True(TFJobRunning)" {
		t.Errorf("conditions: %s", got)
	}
	created := slices.DeleteFunc(r.requestsIn(t, ns), func(q audited) bool { return q.Verb != "create" || q.ObjectRef.Resource == "events" })
	if len(created) != 10 {
		t.Errorf("%d pods and services were created in all, want 10", len(created))
	}
}

// positionReported: a list of one name that does not exist returns a version that is not behind earlier writes. The controller
// sends such a list before it resumes a watch.
func positionReported(t *testing.T, r *rig) {
	ns := r.namespace(t, "position")
	written, err := strconv.Atoi(r.kubectl(t, []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"None"}}`),
		"-n", ns, "create", "-f", "-", "-o", "jsonpath={.metadata.resourceVersion}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"api/v1/namespaces/default/services", "apis/kubeflow.org/v1/namespaces/default/tfjobs"} {
		text := r.kubectl(t, nil, "get", "--raw", "/"+resource+"?fieldSelector=metadata.name%3Dstoic&limit=1")
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if reported, err := strconv.Atoi(list.ResourceVersion); err != nil || reported < written || len(list.Items) > 0 {
			t.Errorf("%s tells version %q and %d items after a write at %d", resource, list.ResourceVersion, len(list.Items), written)
		}
	}
}

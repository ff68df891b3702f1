package controller

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/apply"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

const podsPath = "/api/v1/namespaces/ns/pods/"

// owned returns a pod with that controller and the labels of its children, or without either if they are empty.
func owned(name, uid, kind, owner, label string) map[string]any {
	meta := map[string]any{"name": name, "namespace": "ns"}
	if uid != "" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "kubeflow.org/v1", "kind": kind, "name": owner, "uid": uid, "controller": true}}
	}
	if label != "" {
		meta["labels"] = map[string]any{training.LabelOperator: label, training.LabelJob: owner}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta}
}

// someHead returns the head of job a, as the engine gets it from the converter.
func someHead() *schema.Head {
	head := operator.Convert(kinds.TFJob(), &unstructured.Unstructured{Object: job("a", 1, `{}`)}).Head
	head.Meta.UID, head.Meta.ResourceVersion = "mine", "7"
	return head
}

func statusAt(sec int64, reason string) *training.Status {
	now := metav1.NewTime(time.Unix(sec, 0))
	return &training.Status{StartTime: &now, ObservedGeneration: sec,
		Conditions: []training.Condition{{Type: training.Created, Status: metav1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now}}}
}

// podOf returns a plan that creates one pod.
func podOf() schema.Plan {
	return schema.Plan{Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "a-worker-0",
		Body: []byte(`{"metadata":{"name":"a-worker-0"}}`)}}}
}

// TestNameThatIsTaken: the result of a creation if an object of that name exists.
func TestNameThatIsTaken(t *testing.T) {
	const conflict, oldOwner = "already exists and is not managed by TFJob a;", "still taken by a child of a deleted object of the same name"
	for _, c := range []struct {
		name   string
		pod    map[string]any
		want   string // part of the error's text; "" is no error
		class  apply.Class
		report bool // to the user
	}{
		{"ours", owned("a-worker-0", "mine", "TFJob", "a", kinds.TFJob().Controller), "", apply.Done, false},
		{"ours without its label", owned("a-worker-0", "mine", "TFJob", "a", ""), "put it back", apply.Refused, true},
		{"a deleted job's", owned("a-worker-0", "old", "TFJob", "a", ""), oldOwner, apply.Retry, false},
		{"another kind's", owned("a-worker-0", "old", "PyTorchJob", "a", ""), conflict, apply.Refused, true},
		{"another job's", owned("a-worker-0", "old", "TFJob", "a-worker", ""), conflict, apply.Refused, true},
		{"without owner", owned("a-worker-0", "", "", "", ""), conflict, apply.Refused, true},
		{"gone", nil, oldOwner, apply.Retry, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			controller := newTestController(t, s, nil)
			l := controller.watchers[0]
			if c.pod != nil {
				s.locked(func() { s.store(podsPath+"a-worker-0", c.pod) })
			} else {
				s.refuse = func(verb, resource, _ string) *refusing {
					if verb == http.MethodPost && resource == "pods" {
						return &refusing{http.StatusConflict, metav1.StatusReasonAlreadyExists, ""}
					}
					return nil
				}
			}
			before := s.storedAs(podsPath + "a-worker-0")
			_, err := l.apply(t, l.seen(someHead()), podOf())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || apply.ClassOf(err) != c.class {
				t.Errorf("error of class %d: %v", apply.ClassOf(err), err)
			}
			messages := emitting(t, s, controller)()
			if len(messages) > 0 != c.report || c.report && !strings.Contains(messages[0], c.want) { // and no "Created pod"
				t.Errorf("emitted: %q", messages)
			}
			if after := s.storedAs(podsPath + "a-worker-0"); after != before || s.count("POST pods") != 1 || s.count("PATCH pods")+s.count("DELETE pods") > 0 {
				t.Errorf("stored: %s, before: %s", after, before)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	s.refuse = func(verb, resource, name string) *refusing {
		if name == "refused" {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "not allowed"}
		}
		return nil
	}
	deletions := []schema.Deletion{{Resource: schema.Pods(), Namespace: "ns", Name: "gone", UID: "x"}}
	s.locked(func() {
		for _, name := range []string{"seen", "replaced", "refused"} {
			pod := s.store(podsPath+name, owned(name, "", "", "", ""))
			uid := types.UID(pod["metadata"].(map[string]any)["uid"].(string))
			if name == "replaced" {
				uid = "of the one before"
			}
			deletions = append(deletions, schema.Deletion{Resource: schema.Pods(), Namespace: "ns", Name: name, UID: uid})
		}
	})
	_, err := l.apply(t, l.seen(someHead()), schema.Plan{Delete: deletions})
	if err == nil || !strings.Contains(err.Error(), "delete Pod refused") || !strings.Contains(err.Error(), "delete Pod replaced") || apply.ClassOf(err) != apply.Retry {
		t.Errorf("error: %v", err)
	}
	if got := strings.Join(s.names("pods"), " "); got != "refused replaced" {
		t.Errorf("left: %s", got)
	}
	if messages := emitting(t, s, c)(); len(messages) != 2 || !strings.Contains(strings.Join(messages, "|"), "Deleted pod: seen") {
		t.Errorf("emitted: %q", messages)
	}
}

// TestStatusIsWrittenAtItsVersion: the status is written at the version that it was computed from, and is returned as
// the server kept it.
func TestStatusIsWrittenAtItsVersion(t *testing.T) {
	s := newAPIServer(t)
	l := newTestController(t, s, nil).watchers[0]
	s.put(job("a", 1, `{}`))
	head := someHead()
	head.Meta.ResourceVersion = s.storedVersion()
	s.prune = func(status map[string]any) { delete(status, "observedGeneration"); delete(status, "startTime") }
	todo := schema.Plan{Status: statusAt(5, "A")}
	if _, err := l.apply(t, head, todo); err != nil {
		t.Fatal(err)
	}
	if l.applier.KeepsGeneration(head) {
		t.Error("the generation is taken for kept")
	}
	if !l.store.IsOwnEcho("mine", s.storedVersion()) {
		t.Error("the version that the write returned is not required of the cache")
	}
	stale := *head
	if _, err := l.apply(t, &stale, schema.Plan{Status: statusAt(6, "B")}); apply.ClassOf(err) != apply.Retry {
		t.Errorf("a status computed from an older version: %v", err)
	}
	now := *head
	now.Meta.ResourceVersion = s.storedVersion()
	writes := s.count("PATCH tfjobs/status")
	again := todo
	again.Annotate = &schema.Annotate{Values: map[string]string{"x": "y"}} // it is taken at the version that follows the status only
	if _, err := l.apply(t, &now, again); err != nil || s.count("PATCH tfjobs/status") != writes {
		t.Errorf("what the server does not keep was written again: %v", err)
	}
	now.Meta.ResourceVersion = s.storedVersion()
	s.prune = nil
	if _, err := l.apply(t, &now, schema.Plan{Status: statusAt(6, "B")}); err != nil || !l.applier.KeepsGeneration(head) {
		t.Errorf("error %v; the generation is taken for dropped", err)
	}
	missing := *someHead()
	missing.Meta.Name = "missing"
	if _, err := l.apply(t, &missing, todo); err == nil || !strings.HasSuffix(err.Error(), "the object is gone") || apply.ClassOf(err) != apply.Retry {
		t.Errorf("a job that is gone: %v", err)
	}
}

// storedAs returns the text of a stored object; "" if there is none.
func (s *apiServer) storedAs(path string) (text string) {
	s.locked(func() {
		if o := s.At(path); o != nil {
			body, _ := json.Marshal(o)
			text = string(body)
		}
	})
	return text
}

// storedVersion returns the version of job a.
func (s *apiServer) storedVersion() (v string) {
	s.locked(func() { v = s.At(jobsPath + "a")["metadata"].(map[string]any)["resourceVersion"].(string) })
	return v
}

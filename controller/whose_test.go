package controller

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/plan"
	"stoic/schema"
)

const podsPath = "/api/v1/namespaces/ns/pods/"

// owned is a pod with that controller and the label of TFJobs, or without either if they are empty.
func owned(name, uid, kind, owner, label string) map[string]any {
	meta := map[string]any{"name": name, "namespace": "ns"}
	if uid != "" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "kubeflow.org/v1", "kind": kind, "name": owner, "uid": uid, "controller": true}}
	}
	if label != "" {
		meta["labels"] = map[string]any{schema.LabelOperator: label}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta}
}

func someHead() *schema.Head {
	return &schema.Head{Kind: schema.TFJob(), Meta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "mine", ResourceVersion: "7"}}
}

func TestWhose(t *testing.T) {
	var conflict *conflictError
	var unseen *unseenError
	for _, c := range []struct {
		name string
		pod  map[string]any
		want func(error) bool
	}{
		{"ours", owned("a-worker-0", "mine", "TFJob", "a", schema.TFJob().Controller), func(err error) bool { return err == nil }},
		{"ours without its label", owned("a-worker-0", "mine", "TFJob", "a", ""), func(err error) bool {
			return errors.As(err, &unseen) && worthTelling(err) && sortError(err) == probe && strings.Contains(err.Error(), "put it back")
		}},
		{"a deleted job's", owned("a-worker-0", "old", "TFJob", "a", ""), func(err error) bool { return errors.Is(err, errOldOwner) && sortError(err) == retry }},
		{"another kind's", owned("a-worker-0", "old", "PyTorchJob", "a", ""), func(err error) bool { return errors.As(err, &conflict) }},
		{"another job's", owned("a-worker-0", "old", "TFJob", "a-worker", ""), func(err error) bool { return errors.As(err, &conflict) }},
		{"nobody's", owned("a-worker-0", "", "", "", ""), func(err error) bool { return errors.As(err, &conflict) && sortError(err) == probe }},
		{"gone", nil, func(err error) bool { return errors.Is(err, errOldOwner) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			l := newTestController(t, s, nil).loops[0]
			if c.pod != nil {
				s.locked(func() { s.store(podsPath+"a-worker-0", c.pod) })
			} else {
				s.refuse = func(verb, _, _ string) *refusing {
					if verb == http.MethodPost {
						return &refusing{http.StatusConflict, metav1.StatusReasonAlreadyExists, ""}
					}
					return nil
				}
			}
			made, err := l.createOne(t.Context(), someHead(), schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a-worker-0",
				Body: json.RawMessage(`{"metadata":{"name":"a-worker-0"}}`)})
			if made || !c.want(err) {
				t.Errorf("made: %v, error: %v", made, err)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.loops[0]
	s.refuse = func(verb, resource, name string) *refusing {
		if name == "refused" {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "not allowed"}
		}
		return nil
	}
	deletions := []plan.Deletion{{Resource: schema.Pods(), Namespace: "ns", Name: "gone", UID: "x"}}
	s.locked(func() {
		for _, name := range []string{"seen", "replaced", "refused"} {
			pod := s.store(podsPath+name, owned(name, "", "", "", ""))
			uid := uid(pod["metadata"].(map[string]any)["uid"].(string))
			if name == "replaced" {
				uid = "of the one before"
			}
			deletions = append(deletions, plan.Deletion{Resource: schema.Pods(), Namespace: "ns", Name: name, UID: uid})
		}
	})
	err := l.remove(t.Context(), someHead(), deletions)
	if err == nil || !strings.Contains(err.Error(), "delete Pod refused") || !strings.Contains(err.Error(), "delete Pod replaced") || sortError(err) != retry {
		t.Errorf("error: %v", err)
	}
	if got := strings.Join(s.names("pods"), " "); got != "refused replaced" {
		t.Errorf("left: %s", got)
	}
	var told []string
	for _, e := range c.emitter.waiting {
		told = append(told, e.Message)
	}
	if len(told) != 2 || !strings.Contains(strings.Join(told, "|"), "Deleted pod: seen") {
		t.Errorf("told: %q", told)
	}
}

// The status goes out under the version that it was computed from, and comes back as the server kept it.
func TestRecord(t *testing.T) {
	s := newAPIServer(t)
	l := newTestController(t, s, nil).loops[0]
	s.put(job("a", 1, `{}`))
	head := someHead()
	s.locked(func() {
		head.Meta.ResourceVersion = s.objects[jobsPath+"a"]["metadata"].(map[string]any)["resourceVersion"].(string)
	})
	s.prune = func(status map[string]any) { delete(status, "observedGeneration"); delete(status, "startTime") }
	todo := plan.Plan{Status: statusAt(5, "A")}
	version, err := l.record(t.Context(), head, todo)
	if err != nil || version != s.storedVersion() {
		t.Fatal(version, err)
	}
	if l.keepsGeneration.Load() {
		t.Error("the generation is taken for kept")
	}
	if !l.floors.own("mine", s.storedVersion()) {
		t.Error("the floor was not raised to our own write")
	}
	stale := *head
	if _, err := l.record(t.Context(), &stale, plan.Plan{Status: statusAt(6, "B")}); sortError(err) != retry {
		t.Errorf("a status computed from an older version: %v", err)
	}
	now := *head
	now.Meta.ResourceVersion = s.storedVersion()
	writes := s.count("PATCH")
	if version, err := l.record(t.Context(), &now, todo); err != nil || version != now.Meta.ResourceVersion || s.count("PATCH") != writes {
		t.Errorf("what the server does not keep was written again: %v", err)
	}
	s.prune = nil
	if _, err := l.record(t.Context(), &now, plan.Plan{Status: statusAt(6, "B")}); err != nil || !l.keepsGeneration.Load() {
		t.Errorf("error %v; the generation is taken for dropped", err)
	}
	missing := *someHead()
	missing.Meta.Name = "missing"
	if _, err := l.record(t.Context(), &missing, todo); !errors.Is(err, errUnrecorded) {
		t.Errorf("a job that is gone: %v", err)
	}
}

// storedVersion of job a.
func (s *apiServer) storedVersion() (v string) {
	s.locked(func() { v = s.objects[jobsPath+"a"]["metadata"].(map[string]any)["resourceVersion"].(string) })
	return v
}

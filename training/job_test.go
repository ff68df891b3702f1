package training_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

func TestNames(t *testing.T) {
	if got := training.ChildName("mnist", "worker", 10); got != "mnist-worker-10" {
		t.Error(got)
	}
	if got := training.Host("mnist", "ns", "ps", 0, ""); got != "mnist-ps-0.ns.svc" {
		t.Error(got)
	}
	if got := training.Host("mnist", "ns", "ps", 0, "cluster.local"); got != "mnist-ps-0.ns.svc.cluster.local" {
		t.Error(got)
	}
}

func TestExitCode(t *testing.T) {
	p := &training.Pod{Exits: []training.Exit{{"side", 1}, {"main", 137}, {"main", 2}}}
	if code, known := p.ExitCode("main"); code != 137 || !known {
		t.Error(code, known)
	}
	if _, known := p.ExitCode("other"); known {
		t.Error("a container that never ended")
	}
}

func TestJobRoles(t *testing.T) {
	job := &training.Job{Head: &training.Head{Kind: kinds.TFJob(), Head: schema.Head{Meta: metav1.ObjectMeta{Name: "mnist", Namespace: "team-a"}}}, ReplicaTypes: []training.ReplicaType{{KnownReplicaType: training.KnownReplicaType{Name: "PS"}, Replicas: 2}, {KnownReplicaType: training.KnownReplicaType{Name: "Worker"}, Replicas: 3}}}
	if job.Replicas() != 5 || job.ReplicaType("Worker").Replicas != 3 || job.ReplicaType("worker") != nil || job.ReplicaType("Chief") != nil {
		t.Errorf("%+v", job.ReplicaTypes)
	}
	if job.ReplicaTypes[0].Name != "PS" {
		t.Error("the order is the kind's")
	}
	if job.GetObjectMeta().GetName() != "mnist" || job.Key() != "team-a/mnist" {
		t.Error(job.Key())
	}
}

func TestRestartPolicies(t *testing.T) {
	want := map[string]string{"Always": "Always", "OnFailure": "OnFailure", "Never": "Never", "ExitCode": "Never"}
	for _, p := range training.RestartPolicies() {
		if got := training.RestartPolicy(p).Pod(); got != want[p] {
			t.Errorf("%s: %s", p, got)
		}
	}
	if strings.Join(training.CleanPodPolicies(), " ") != "All Running None" {
		t.Error(training.CleanPodPolicies())
	}
}

// TestKinds checks the rules for every kind. Names of replica types must differ by more than case. Labels must be part of
// a DNS name and distinguish the replica types in the name of a child.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for _, k := range kinds.All() {
		if names[k.Name] || k.Group != "kubeflow.org" || k.APIVersion() != "kubeflow.org/v1" || k.Reason(training.ReasonCreated) != k.Name+"Created" {
			t.Errorf("%+v", k)
		}
		names[k.Name] = true
		if r := k.Resource(); r.Plural != k.Plural || r.Kind != k.Name || r.Group != k.Group || r.Version != k.Version {
			t.Errorf("%+v", r)
		}
		if k.Options == nil || k.Wire == nil || k.Lower == nil || k.Environment == nil || k.Container == "" || (k.Port.Number == 0) != (k.Port.Name == "") || len(k.ReplicaTypes) == 0 {
			t.Errorf("%s lacks something", k.Name)
		}
		for _, r := range k.ReplicaTypes {
			if k.ReplicaType(strings.ToUpper(r.Name)) == nil || k.ReplicaType(strings.ToUpper(r.Name)).Name != r.Name || r.Label != strings.ToLower(r.Name) {
				t.Errorf("%s: replica type %+v", k.Name, r)
			}
		}
		if k.ReplicaType("Nobody") != nil {
			t.Error("Nobody")
		}
	}
	if schema.Pods().Group != "" || schema.Services().Plural != "services" {
		t.Error("children are of the core group")
	}
}

func TestTerminal(t *testing.T) {
	yes := func(t training.ConditionType, reason string) training.Condition {
		return training.Condition{Type: t, Status: "True", Reason: reason}
	}
	no := func(t training.ConditionType) training.Condition { return training.Condition{Type: t, Status: "False"} }
	for name, test := range map[string]struct {
		conditions []training.Condition
		want       training.ConditionType
	}{
		"none":              {nil, ""},
		"running":           {[]training.Condition{yes(training.Running, "")}, ""},
		"succeeded":         {[]training.Condition{no(training.Running), yes(training.Succeeded, "")}, training.Succeeded},
		"failed":            {[]training.Condition{yes(training.Failed, "TFJobFailed")}, training.Failed},
		"false":             {[]training.Condition{no(training.Failed), no(training.Succeeded)}, ""},
		"refused":           {[]training.Condition{yes(training.Stalled, training.ReasonInvalidSpec), yes(training.Failed, training.ReasonInvalidSpec)}, ""},
		"both":              {[]training.Condition{yes(training.Failed, "x"), yes(training.Succeeded, "")}, training.Succeeded},
		"refused, then won": {[]training.Condition{yes(training.Failed, training.ReasonInvalidSpec), yes(training.Succeeded, "")}, training.Succeeded},
	} {
		s := training.Status{Conditions: test.conditions}
		if got := s.Terminal(); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if s := (training.Status{}); s.Condition(training.Created) != nil || s.Is(training.Created) {
		t.Error("nothing is created")
	}
}

// TestStatusJSON: the wire form is API.
func TestStatusJSON(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s := training.Status{
		Conditions:      []training.Condition{{training.Created, "True", "TFJobCreated", "m", at, at}},
		ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {Active: 2, Succeeded: 1}, "PS": {}},
		StartTime:       &at, ObservedGeneration: 3, Unclean: true,
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"conditions":[{"type":"Created","status":"True","reason":"TFJobCreated","message":"m","lastUpdateTime":"2026-01-02T03:04:05Z","lastTransitionTime":"2026-01-02T03:04:05Z"}],` +
		`"replicaStatuses":{"PS":{},"Worker":{"active":2,"succeeded":1}},"startTime":"2026-01-02T03:04:05Z","observedGeneration":3}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

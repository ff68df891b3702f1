package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNames(t *testing.T) {
	if got := ChildName("mnist", "worker", 10); got != "mnist-worker-10" {
		t.Error(got)
	}
	if got := Host("mnist", "ns", "ps", 0, ""); got != "mnist-ps-0.ns.svc" {
		t.Error(got)
	}
	if got := Host("mnist", "ns", "ps", 0, "cluster.local"); got != "mnist-ps-0.ns.svc.cluster.local" {
		t.Error(got)
	}
}

func TestExitCode(t *testing.T) {
	p := &Pod{Exits: []Exit{{"side", 1}, {"main", 137}, {"main", 2}}}
	if code, known := p.ExitCode("main"); code != 137 || !known {
		t.Error(code, known)
	}
	if _, known := p.ExitCode("other"); known {
		t.Error("a container that never ended")
	}
}

func TestJobRoles(t *testing.T) {
	job := tf("Worker:3", "PS:2")
	if job.Replicas() != 5 || job.Role("Worker").Replicas != 3 || job.Role("worker") != nil || job.Role("Chief") != nil {
		t.Errorf("%+v", job.Roles)
	}
	if job.Roles[0].Name != "PS" {
		t.Error("the order is the kind's")
	}
	if job.GetObjectMeta().GetName() != "mnist" || job.Key() != "team-a/mnist" {
		t.Error(job.Key())
	}
}

func TestRestartPolicies(t *testing.T) {
	want := map[string]string{"Always": "Always", "OnFailure": "OnFailure", "Never": "Never", "ExitCode": "Never"}
	for _, p := range RestartPolicies() {
		if got := RestartPolicy(p).Pod(); got != want[p] {
			t.Errorf("%s: %s", p, got)
		}
	}
	if strings.Join(CleanPodPolicies(), " ") != "All Running None" {
		t.Error(CleanPodPolicies())
	}
}

// TestKinds: what every kind must be. Names of roles must not be equal but for case, labels must be part of a
// DNS name and tell roles apart in the name of a child.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Kinds() {
		if names[k.Name] || k.Group != "kubeflow.org" || k.APIVersion() != "kubeflow.org/v1" || k.Reason(ReasonCreated) != k.Name+"Created" {
			t.Errorf("%+v", k)
		}
		names[k.Name] = true
		if r := k.Resource(); r.Plural != k.Plural || r.Kind != k.Name || r.Group != k.Group || r.Version != k.Version {
			t.Errorf("%+v", r)
		}
		if k.Options == nil || k.Check == nil || k.Lower == nil || k.Environment == nil || k.Container == "" || k.Port.Number == 0 || len(k.Roles) == 0 {
			t.Errorf("%s lacks something", k.Name)
		}
		for _, r := range k.Roles {
			if k.Role(strings.ToUpper(r.Name)) == nil || k.Role(strings.ToUpper(r.Name)).Name != r.Name || r.Label != strings.ToLower(r.Name) {
				t.Errorf("%s: role %+v", k.Name, r)
			}
		}
		if k.Role("Nobody") != nil {
			t.Error("Nobody")
		}
	}
	if Pods().Group != "" || Services().Plural != "services" {
		t.Error("children are of the core group")
	}
}

func TestVerdict(t *testing.T) {
	yes := func(t ConditionType, reason string) Condition {
		return Condition{Type: t, Status: "True", Reason: reason}
	}
	no := func(t ConditionType) Condition { return Condition{Type: t, Status: "False"} }
	for name, test := range map[string]struct {
		conditions []Condition
		want       ConditionType
	}{
		"none":              {nil, ""},
		"running":           {[]Condition{yes(Running, "")}, ""},
		"succeeded":         {[]Condition{no(Running), yes(Succeeded, "")}, Succeeded},
		"failed":            {[]Condition{yes(Failed, "TFJobFailed")}, Failed},
		"false":             {[]Condition{no(Failed), no(Succeeded)}, ""},
		"refused":           {[]Condition{yes(Stalled, ReasonInvalidSpec), yes(Failed, ReasonInvalidSpec)}, ""},
		"both":              {[]Condition{yes(Failed, "x"), yes(Succeeded, "")}, Succeeded},
		"refused, then won": {[]Condition{yes(Failed, ReasonInvalidSpec), yes(Succeeded, "")}, Succeeded},
	} {
		s := Status{Conditions: test.conditions}
		if got := s.Verdict(); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if s := (Status{}); s.Condition(Created) != nil || s.Is(Created) {
		t.Error("nothing is created")
	}
}

// TestStatusJSON: the wire form is API.
func TestStatusJSON(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s := Status{
		Conditions:      []Condition{{Created, "True", "TFJobCreated", "m", at, at}},
		ReplicaStatuses: map[string]ReplicaStatus{"Worker": {Active: 2, Succeeded: 1}, "PS": {}},
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

package limit

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"stoic/test/bench/wire"
	"stoic/training"
)

func example(t *testing.T, text string) *job {
	t.Helper()
	j := read(&wire.Job{Metadata: wire.Meta{Name: "j", Namespace: "ns", UID: "u"}, Spec: json.RawMessage(text)})
	if j == nil {
		t.Fatalf("cannot read %s", text)
	}
	return j
}

const template = `"template":{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"tensorflow","image":"i"}]}}`

// phases plays phases of pods and returns the last action.
func (j *job) phases(all ...string) (last action) {
	for i := 0; i < len(all); i += 2 {
		r := j.named(all[i])
		r.phase = all[i+1]
		p := &wire.Pod{}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, struct {
			State struct {
				Terminated *struct{ ExitCode int }
			}
		}{})
		p.Status.ContainerStatuses[0].State.Terminated = &struct{ ExitCode int }{137}
		last = j.next(r, p)
	}
	return last
}

func TestActions(t *testing.T) {
	two := `{"tfReplicaSpecs":{"PS":{` + template + `},"Worker":{"replicas":2,` + template + `}}}`
	retry := `{"runPolicy":{"backoffLimit":1},"tfReplicaSpecs":{"Worker":{"restartPolicy":"ExitCode",` + template + `}}}`
	for name, c := range map[string]struct {
		spec   string
		phases []string
		want   action
	}{
		"one runs":                     {two, []string{"j-ps-0", "Running"}, nothing},
		"all run":                      {two, []string{"j-ps-0", "Running", "j-worker-0", "Running", "j-worker-1", "Running"}, running},
		"another succeeds":             {two, []string{"j-worker-1", "Succeeded"}, nothing},
		"the success replica succeeds": {two, []string{"j-worker-0", "Succeeded"}, succeeded},
		"one fails":                    {two, []string{"j-worker-1", "Failed"}, failed},
		"one is retried":               {retry, []string{"j-worker-0", "Failed"}, replace},
		"twice":                        {retry, []string{"j-worker-0", "Failed", "j-worker-0", "Failed"}, failed},
	} {
		j := example(t, c.spec)
		if got := j.phases(c.phases...); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		var body struct{ Status training.Status }
		if err := json.Unmarshal(j.status(c.want), &body); err != nil || (body.Status.CompletionTime != nil) != (c.want != running) {
			t.Errorf("%s: status %+v, %v", name, body.Status, err)
		}
	}
}

func TestObjects(t *testing.T) {
	j := example(t, `{"tfReplicaSpecs":{"PS":{`+template+`},"Worker":{`+template+`}}}`)
	var pod corev1.Pod
	if err := json.Unmarshal(j.pod(j.named("j-worker-0")), &pod); err != nil {
		t.Fatal(err)
	}
	want := `{"cluster":{"ps":["j-ps-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}`
	if diff := cmp.Diff(want, pod.Spec.Containers[0].Env[0].Value); diff != "" {
		t.Error(diff)
	}
	if pod.Labels[training.LabelJobRole] != training.JobRoleMaster || pod.Annotations["a"] != "b" || pod.OwnerReferences[0].UID != "u" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("%+v", pod)
	}
	if again := j.pod(j.named("j-worker-0")); len(example(t, `{"tfReplicaSpecs":{"PS":{`+template+`},"Worker":{`+template+`}}}`).pod(j.named("j-worker-0"))) != len(again) {
		t.Error("a second pod of the same replica differs: its template was written to")
	}
	var service corev1.Service
	if err := json.Unmarshal(j.service(j.named("j-ps-0")), &service); err != nil || service.Spec.ClusterIP != "None" || service.Spec.Selector[training.LabelReplicaType] != "ps" {
		t.Errorf("%+v, %v", service, err)
	}
}

// TestNoJobs: malformed and suspended jobs are left alone.
func TestNoJobs(t *testing.T) {
	for _, text := range []string{`{}`, `{"tfReplicaSpecs":{}}`, `{"tfReplicaSpecs":7}`, `{"runPolicy":{"suspend":true},"tfReplicaSpecs":{"Worker":{` + template + `}}}`,
		`{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"args":[1]}]}}}}}`} {
		if read(&wire.Job{Spec: json.RawMessage(text)}) != nil {
			t.Errorf("%s is a job", text)
		}
	}
}

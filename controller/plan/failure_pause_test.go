package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// A replica whose pod fails at once is not replaced as fast as the cluster can.
func TestRestartPause(t *testing.T) {
	now := time.Unix(1000000, 500)
	for _, c := range []struct {
		name    string
		age     time.Duration
		recheck time.Duration // 0: the pod is deleted now
	}{
		{"young", 2 * time.Second, 8 * time.Second},
		{"new", 0, restartPause},
		{"almost old enough", restartPause - time.Nanosecond, time.Nanosecond},
		{"old enough", restartPause, 0},
		{"old", time.Hour, 0},
		{"from the future", -time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := schema.TFJob()
			head := &schema.Head{Kind: kind}
			head.Meta.Name, head.Meta.Namespace, head.Meta.UID = "j", "ns", "uid"
			job := &schema.Job{Head: head, Lead: schema.Lead{Role: "Worker", Rule: schema.LeadFirst},
				Policy: schema.RunPolicy{CleanPods: schema.CleanNone},
				Roles:  []schema.Role{{RoleKind: *kind.Role("Worker"), Replicas: 1, Restart: schema.RestartExitCode, Template: []byte(`{"spec":{}}`)}}}
			pod := schema.Pod{Name: "j-worker-0", UID: "p", Phase: corev1.PodFailed, Created: now.Add(-c.age),
				Exits: []schema.Exit{{Container: kind.Container, Code: 137}}}
			p := Make(Observed{Head: head, Job: job, Pods: []schema.Pod{pod}, Now: now})

			if !p.Status.Is(schema.Restarting) {
				t.Error("the job is not said to be restarting")
			}
			deleted := 0
			for _, d := range p.Delete {
				if d.Name == pod.Name && d.UID == pod.UID {
					deleted++
				}
			}
			if want := map[bool]int{true: 1}[c.recheck == 0]; deleted != want || p.Recheck != c.recheck {
				t.Errorf("deleted %d, recheck %v; want %d, %v", deleted, p.Recheck, want, c.recheck)
			}
		})
	}
}

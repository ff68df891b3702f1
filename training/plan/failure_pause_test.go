package plan

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// A pod that fails immediately is replaced after a growing back-off. The failure is recorded immediately.
func TestRestartPause(t *testing.T) {
	now := time.Unix(1000000, 500)
	for _, c := range []struct {
		name    string
		age     time.Duration
		before  int64
		recheck time.Duration // 0: the pod is deleted now
		row     int64
	}{
		{"young", 2 * time.Second, 0, 8 * time.Second, 1},
		{"new", 0, 0, firstPause, 1},
		{"almost old enough", firstPause - time.Nanosecond, 0, time.Nanosecond, 1},
		{"old enough", firstPause, 0, 0, 1},
		{"old", time.Hour, 0, 0, 1},
		{"from the far future", -time.Hour, 0, 0, 1},
		{"of a clock that is ahead", -2 * time.Second, 0, firstPause, 1},
		{"of a clock that is far ahead", -lastPause, 6, lastPause, 7},
		{"the second", 10 * time.Second, 1, 10 * time.Second, 2},
		{"the third", 10 * time.Second, 2, 30 * time.Second, 3},
		{"the fifth", 0, 4, 160 * time.Second, 5},
		{"the sixth", 0, 5, lastPause, 6},
		{"the seventh", lastPause, 6, 0, 7},
		{"as many as there are numbers", 0, math.MaxInt64, lastPause, training.MaxCount},
		{"fewer than none", 0, math.MinInt64, firstPause, 1},
		{"the last of a row", consecutiveEnds - 1, 6, 0, 7},
		{"the first of a new row", consecutiveEnds, 6, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newCluster()
			w.now = now
			w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Restart: string(training.RestartExitCode)}}
			w.setPod(t, "j-worker-0", "Failed exit=137")
			pod := w.pods["j-worker-0"]
			pod.Created, pod.ConsecutiveFailures = now.Add(-c.age), c.before
			p := Make(w.observe())

			if !p.Status.Is(training.Restarting) {
				t.Error("the job is not said to be restarting")
			}
			if p.Ledger == nil || p.Ledger.Failed["worker-0"] != (training.Failure{Pod: pod.UID, ConsecutiveFailures: c.row}) {
				t.Errorf("on record: %+v, want %d in a row", p.Ledger, c.row)
			}
			deleted := 0
			for _, d := range p.Delete {
				if d.Name == pod.Name && d.UID == pod.UID {
					deleted++
				}
			}
			if want := map[bool]int{true: 1}[c.recheck == 0]; deleted != want || p.Requeue != c.recheck {
				t.Errorf("deleted %d, recheck %v; want %d, %v", deleted, p.Requeue, want, c.recheck)
			}
			if pod.Phase != corev1.PodFailed {
				t.Error("an observed pod was changed")
			}
		})
	}
}

package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// TestCompleted: the completion time is that of the batch/v1 Job, but neither before the start time nor in the future.
func TestCompleted(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(1790000000+seconds, 0)} }
	for name, c := range map[string]struct {
		says, start *metav1.Time
		want        int64
	}{
		"nothing":          {nil, at(-60), 0},
		"a while ago":      {at(-30), at(-60), -30},
		"no start":         {at(-30), nil, -30},
		"before the start": {at(-90), at(-60), -60},
		"in the future":    {at(90), at(-60), 0},
		"year 1":           {&metav1.Time{}, at(-60), -60},
	} {
		d := &draft{now: *at(0)}
		d.status.StartTime = c.start
		if got := d.completed(&training.BatchJob{BatchState: &training.BatchState{Completed: c.says}}); !got.Equal(at(c.want)) {
			t.Errorf("%s: %v, want %v", name, got, at(c.want))
		}
	}
}

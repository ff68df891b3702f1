package plan

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

func TestUntil(t *testing.T) {
	for _, test := range []struct {
		limit   int64
		elapsed time.Duration
		want    time.Duration
	}{
		{10, 0, 10 * time.Second},
		{10, 9500 * time.Millisecond, 500 * time.Millisecond},
		{10, 10 * time.Second, soon},
		{10, time.Hour, soon},
		{0, 0, soon},
		{10, -time.Hour, 10 * time.Second}, // in the future counts as now
		{86400, 0, 24 * time.Hour},
		{86401, 0, 24 * time.Hour},
		{math.MaxInt64, 0, 24 * time.Hour},
		{math.MaxInt64, -1 << 62, 24 * time.Hour},
	} {
		d := newDraft(Observed{Now: epoch.Add(test.elapsed)})
		if got := d.until(metav1.NewTime(epoch), training.Limit{Set: true, Value: test.limit}); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

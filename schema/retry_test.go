package schema

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBackOff(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	for _, c := range []struct {
		name     string
		last     *metav1.Time
		recorded int32
		wait     time.Duration
		times    int32
	}{
		{"nothing on record", nil, 7, 0, 1},
		{"the future", ago(-time.Second), 3, 0, 1},
		{"the year 9999", &metav1.Time{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, 3, 0, 1},
		{"the zero time", &metav1.Time{}, 3, 0, 1},
		{"long past", ago(10*time.Minute + 1), 3, 0, 1},
		{"not quite", ago(10 * time.Minute), 3, 0, 4},
		{"just now", ago(0), 1, 10 * time.Second, 2},
		{"the second", ago(0), 2, 20 * time.Second, 3},
		{"part of it is over", ago(15 * time.Second), 2, 5 * time.Second, 3},
		{"it is over", ago(25 * time.Second), 2, 0, 3},
		{"the longest", ago(0), 6, 5 * time.Minute, 7},
		{"no longer", ago(0), 29, 5 * time.Minute, 30},
		{"an edited number", ago(0), math.MaxInt32, 5 * time.Minute, 31},
		{"a negative number", ago(0), math.MinInt32, 10 * time.Second, 2},
	} {
		if wait, times := BackOff(c.last, c.recorded, now, 10*time.Second, 5*time.Minute); wait != c.wait || times != c.times {
			t.Errorf("%s: wait %s, times %d; want %s, %d", c.name, wait, times, c.wait, c.times)
		}
	}
}

func TestLookAgain(t *testing.T) {
	var p Plan
	for _, c := range []struct{ ask, want time.Duration }{{0, 0}, {-1, 0}, {5, 5}, {7, 5}, {0, 5}, {-3, 5}, {2, 2}} {
		if p.LookAgain(c.ask); p.Requeue != c.want {
			t.Errorf("after %d: %d, want %d", c.ask, p.Requeue, c.want)
		}
	}
}

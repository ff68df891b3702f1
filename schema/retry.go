package schema

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackOff returns how long to wait before a failed child is created again, from what a status has on record: when that was done
// last, and how many times in a row. The first time does not wait. The second waits until first has passed since the last time,
// each further one twice as long, up to longest. times is what to record when it is done now.
//
//	on record                                   wait     times
//	nothing, or a time that is still to come    0        1
//	a time longer ago than 2*longest            0        1: that was another failure
//	any other time                              the rest one more; at least 2
//
// A status may be edited: every number and every time has a result.
func BackOff(last *metav1.Time, recorded int32, now time.Time, first, longest time.Duration) (wait time.Duration, times int32) {
	if last == nil || last.After(now) || now.Sub(last.Time) > 2*longest {
		return 0, 1
	}
	const most = 30 // doublings, which no duration of use survives
	times = min(max(recorded, 1), most)
	delay := first
	for i := int32(1); i < times && delay < longest; i++ {
		delay *= 2
	}
	return max(0, last.Add(min(delay, longest)).Sub(now)), times + 1
}

// LookAgain requests another reconcile after some time; the earliest request counts. Zero or a negative time requests nothing.
func (p *Plan) LookAgain(after time.Duration) {
	if after > 0 && (p.Requeue == 0 || after < p.Requeue) {
		p.Requeue = after
	}
}

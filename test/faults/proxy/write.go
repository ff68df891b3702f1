package proxy

import (
	"net/http"
	"time"
)

// tick is how often a drip drips.
const tick = 20 * time.Millisecond

// write gives bytes to the operator, at once or drop by drop, and cuts if it is gone. It stops when a stream is severed.
func (x *exchange) write(data []byte) {
	for len(data) > 0 {
		part := data
		rate := x.p.streams.drip(x.entry.Resource)
		if rate > 0 {
			part = data[:min(len(data), max(1, rate*int(tick)/int(time.Second)))]
		}
		if _, err := x.w.Write(part); err != nil {
			cut()
		}
		x.flush()
		data = data[len(part):]
		if rate > 0 && !x.pause(time.Duration(len(part))*time.Second/time.Duration(rate)) {
			return
		}
	}
}

// pause says whether to go on.
func (x *exchange) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-x.severed:
		return false
	case <-x.r.Context().Done():
		cut()
	}
	return true
}

func (x *exchange) flush() {
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		cut()
	}
}

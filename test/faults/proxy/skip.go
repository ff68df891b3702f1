package proxy

import "time"

// skip is a window of events that one watch does not deliver. It is guarded by Streams.
type skip struct {
	resource, subject string
	from, to          int

	seen     map[*stream]int // events about the subject
	by       *stream         // the watch in which it happens, or nil
	last     time.Time       // when an event was swallowed
	lastOurs time.Time       // when one about the subject was swallowed
	reached  time.Time       // when the to-th was swallowed
	over     bool
}

// quiet is the silence that ends a skip after the to-th event. longest is how long a skip lasts at most after the to-th event,
// or, before that one, without an event about the subject.
const (
	quiet   = 300 * time.Millisecond
	longest = 2 * time.Second
)

// swallows reports whether the stream does not deliver this event.
func (k *skip) swallows(st *stream, f *frame, now time.Time) bool {
	if k == nil || k.over || k.resource != st.resource || st.initial || k.by != nil && k.by != st {
		return false
	}
	if f.kind == bookmark {
		return k.by == st // a bookmark would claim that everything was delivered
	}
	if f.kind == failure {
		return false
	}
	ours := concerns(k.subject, f.about())
	if ours {
		k.seen[st]++
	}
	if k.by == nil {
		if !ours || k.seen[st] < k.from {
			return false
		}
		k.by = st
	}
	k.last = now
	if ours {
		k.lastOurs = now
		if k.seen[st] >= k.to && k.reached.IsZero() {
			k.reached = now
		}
	}
	return true
}

// ends returns when the skip of this stream is over, if no event arrives before; false if there is none.
func (k *skip) ends(st *stream) (time.Time, bool) {
	switch {
	case k == nil || k.over || k.by != st:
		return time.Time{}, false
	case k.reached.IsZero():
		return k.lastOurs.Add(longest), true
	}
	end := k.last.Add(quiet)
	if limit := k.reached.Add(longest); limit.Before(end) {
		end = limit
	}
	return end, true
}

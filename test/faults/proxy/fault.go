package proxy

import (
	"fmt"
	"time"
)

// Entry is a request for an object of the subject, and its result.
type Entry struct {
	Request
	Began time.Time
	// Forwarded: it was sent to the API server, which answered Code and Body, whatever the operator received.
	Forwarded bool
	Code      int
	Body      []byte
	// Fault names the injected fault, or is "".
	Fault string
}

// Fault is something that happens to writes of a track.
type Fault struct {
	At    int // the number of the first write that it strikes, from 1
	Times int // how many in a row; 0 is one
	Act   Act
}

func (f *Fault) isDue(number int) bool {
	return f != nil && number >= f.At && number < f.At+max(f.Times, 1)
}

// Act is what happens to a write, in this order: it is forwarded, something is done, and the operator gets an answer. Without an
// answer its connection is cut.
type Act struct {
	name     string
	forwards bool
	do       func()
	answers  bool
	refuses  int // the code of an answer that is not the API server's; 0: none
	crashes  bool
}

var (
	// Reset cuts the connection before the write is forwarded.
	Reset = Act{name: "reset"}
	// Drop forwards the write and cuts the connection instead of answering: a timeout after the commit.
	Drop = Act{name: "drop", forwards: true}
)

// Refuse answers in place of the API server, with a Status whose reason fits the code.
func Refuse(code int) Act {
	return Act{name: fmt.Sprint("refuse ", code), refuses: code, answers: true}
}

// Before is a crash before the write: neither this write nor a later one is forwarded. It calls a function that kills the operator.
func Before(kill func()) Act { return Act{name: "before", do: kill, crashes: true} }

// After is a crash after the write: this one is forwarded, and no later one.
func After(kill func()) Act { return Act{name: "after", forwards: true, do: kill, crashes: true} }

// Along forwards, calls a function when the API server has answered, then answers the operator.
func Along(do func()) Act { return Act{name: "along", forwards: true, do: do, answers: true} }

// Track numbers the writes that concern one subject from 1, keeps them with its reads, and injects faults into them.
type Track struct {
	proxy   *Proxy // its lock guards what follows
	subject string
	fault   *Fault
	journal []*Entry
	writes  int
	struck  int
	last    time.Time
}

// Inject replaces the fault of the track.
func (t *Track) Inject(f Fault) {
	t.proxy.mu.Lock()
	defer t.proxy.mu.Unlock()
	t.fault = &f
}

// Lift ends the fault; numbering continues.
func (t *Track) Lift() {
	t.proxy.mu.Lock()
	defer t.proxy.mu.Unlock()
	t.fault = nil
}

// Journal returns the requests in the order in which they arrived.
func (t *Track) Journal() (all []Entry) {
	t.proxy.mu.Lock()
	defer t.proxy.mu.Unlock()
	for _, e := range t.journal {
		all = append(all, *e)
	}
	return all
}

// Struck returns how often the fault struck, and when the last time was over.
func (t *Track) Struck() (times int, last time.Time) {
	t.proxy.mu.Lock()
	defer t.proxy.mu.Unlock()
	return t.struck, t.last
}

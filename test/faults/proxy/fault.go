package proxy

import (
	"net/http"
	"net/url"
	"time"
)

// Request is one request for one object, or the creation of one. Lists, watches and discovery are not numbered.
type Request struct {
	// Number counts the requests of a track that could change something, from 1; 0 for a GET.
	Number int
	// Verb is create, update, patch, delete, deletecollection or get.
	Verb string
	Group, Version, Resource, Subresource,
	Namespace, Name string // Name of a created object is that in its body
	Query url.Values
	Body  []byte
}

// Entry is a request and its result.
type Entry struct {
	Request
	Began, Ended time.Time
	// Forwarded: it reached the API server, which answered Code and Body, whatever the operator received.
	Forwarded bool
	Code      int
	Body      []byte
	// Fault names the injected fault, or is "".
	Fault string
}

// Fault is something that happens to the requests of a track.
type Fault struct {
	// At is the number of the first write that it strikes, from 1; 0 is every one.
	At int
	// Times is how many writes in a row it strikes; 0 is one.
	Times int
	// Reads: GETs of the subject's objects count with the writes for this fault.
	Reads bool
	Act   Act
}

// isDue reports whether the fault strikes this request, which is the number-th write (0: none) and the place-th request.
func (f Fault) isDue(number, place int) bool {
	k := number
	if f.Reads {
		k = place
	}
	return k > 0 && (f.At == 0 || k >= f.At && k < f.At+max(f.Times, 1))
}

// Act is what happens; see the types below.
type Act interface {
	name() string
	// happen executes the act on a request.
	happen(x *exchange)
}

type (
	// Refuse answers in place of the API server, with a Status object whose reason fits the code.
	Refuse struct {
		Code       int
		RetryAfter time.Duration // sent if positive
	}
	// Reset cuts the connection before the request is forwarded.
	Reset struct{}
	// Drop forwards the request and cuts the connection instead of answering: a timeout after the commit.
	Drop struct{}
	// Before calls Do instead of forwarding, then cuts the connection. With a Do that kills the operator it is a crash before the write.
	Before struct{ Do func() }
	// After forwards, calls Do when the API server has answered, then cuts the connection: a crash after the write.
	After struct{ Do func() }
	// Along forwards, calls Do when the API server has answered, then answers the operator.
	Along struct{ Do func() }
)

func (Refuse) name() string { return "refuse" }
func (Reset) name() string  { return "reset" }
func (Drop) name() string   { return "drop" }
func (Before) name() string { return "before" }
func (After) name() string  { return "after" }
func (Along) name() string  { return "along" }

func (a Refuse) happen(x *exchange) { x.refuse(a) }

func (Reset) happen(*exchange) { cut() }

func (Drop) happen(x *exchange) {
	x.forward()
	cut()
}

func (a Before) happen(x *exchange) {
	x.awaitEarlier()
	a.Do()
	cut()
}

func (a After) happen(x *exchange) {
	x.forward()
	x.awaitEarlier()
	a.Do()
	cut()
}

func (a Along) happen(x *exchange) {
	answer := x.forward()
	a.Do()
	x.answer(answer)
}

// silenced is the fault of a request that arrived before the operator was silenced and was not forwarded any longer.
const silenced = "silence"

// cut ends the request without an answer. With HTTP/2 it resets the stream, since other subjects' requests share the connection.
// client-go does not retry such a write; the operator sees an error.
func cut() { panic(http.ErrAbortHandler) }

package proxy

import (
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

// Entry is a request and what became of it.
type Entry struct {
	Request
	Began, Ended time.Time
	// Forwarded: it reached the API server, whose answer Code and Body are, whatever the operator was told.
	Forwarded bool
	Code      int
	Body      []byte
	// Fault names the fault that was injected, or is "".
	Fault string
}

// Fault is something that happens to the writes of a track.
type Fault struct {
	// At is the number of the first write that it happens to, from 1; 0 is every one.
	At int
	// Times is how many writes in a row it happens to; 0 is one.
	Times int
	// Reads: GETs of the subject's objects are counted with the writes for this fault.
	Reads bool
	Act   Act
}

// Act is what happens; see the types below.
type Act interface{ act() string }

type (
	// Refuse answers in the API server's place, with a Status object whose reason fits the code.
	Refuse struct {
		Code       int
		RetryAfter time.Duration // sent with 429 and 503 if positive
	}
	// Reset cuts the connection before the request is forwarded.
	Reset struct{}
	// Drop forwards the request and cuts the connection instead of answering: a timeout after the commit.
	Drop struct{}
	// Before calls Do instead of forwarding; then the connection is cut. With a Do that kills the operator it is a crash
	// before the write.
	Before struct{ Do func() }
	// After forwards, calls Do when the API server has answered, then the connection is cut: a crash after the write.
	After struct{ Do func() }
	// Along forwards, calls Do when the API server has answered, then answers the operator.
	Along struct{ Do func() }
)

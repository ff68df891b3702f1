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
	// Times is how many writes in a row it strikes; 0 is one. If At is 0, it is how many it strikes at most; 0 is no limit.
	Times int
	// Reads: GETs of the subject's objects count with the writes for this fault.
	Reads bool
	Act   Act
}

// Act is what happens; see the types below.
type Act interface{ act() string }

type (
	// Refuse answers in place of the API server, with a Status object whose reason fits the code.
	Refuse struct {
		Code       int
		RetryAfter time.Duration // sent with 429 and 503 if positive
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

package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Request is one request for one object, or the creation of one. Lists, watches and discovery are not numbered.
type Request struct {
	// Number counts the requests of a track that could change something, from 1; 0 for a GET.
	Number int
	// Verb is create, update, patch, delete, deletecollection or get.
	Verb                                  string
	Group, Version, Resource, Subresource string
	// Name of a created object is the one in its body.
	Namespace, Name string
	Query           url.Values
	Body            []byte
}

// Entry is a request and its result.
type Entry struct {
	Request
	Began time.Time
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

// Act is what happens to a request, in this order: it is forwarded, something is done, and the operator gets an answer. Without an
// answer its connection is cut.
type Act struct {
	name     string
	forwards bool
	do       func()
	answers  bool
	refuses  int // the code of an answer that is not the API server's; 0: none
	// crashes: the operator dies. Its earlier writes arrive before that, and no later write arrives.
	crashes bool
}

var (
	// Reset cuts the connection before the request is forwarded.
	Reset = Act{name: "reset"}
	// Drop forwards the request and cuts the connection instead of answering: a timeout after the commit.
	Drop = Act{name: "drop", forwards: true}
)

// Refuse answers in place of the API server, with a Status object whose reason fits the code.
func Refuse(code int) Act {
	return Act{name: fmt.Sprint("refuse ", code), refuses: code, answers: true}
}

// Before calls a function instead of forwarding, then cuts the connection. If that kills the operator it is a crash before the write.
func Before(do func()) Act { return Act{name: "before", do: do, crashes: true} }

// After forwards, calls a function when the API server has answered, then cuts the connection: a crash after the write.
func After(do func()) Act { return Act{name: "after", forwards: true, do: do, crashes: true} }

// Along forwards, calls a function when the API server has answered, then answers the operator.
func Along(do func()) Act { return Act{name: "along", forwards: true, do: do, answers: true} }

// happen executes the act on a request.
func (a *Act) happen(x *exchange) {
	var answered *answer
	if a.forwards {
		answered = x.forward()
	}
	if a.crashes {
		x.awaitEarlier()
	}
	if a.do != nil {
		a.do()
	}
	switch {
	case a.refuses != 0:
		x.refuse(a.refuses)
	case a.answers:
		x.answer(answered)
	default:
		cut()
	}
}

// silenced is the fault of a request that arrived before the operator was silenced and was not forwarded any longer.
const silenced = "silence"

// cut ends the request without an answer. With HTTP/2 it resets the stream, since other subjects' requests share the connection.
// client-go does not retry such a write; the operator sees an error.
func cut() { panic(http.ErrAbortHandler) }

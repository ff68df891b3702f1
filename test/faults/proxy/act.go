package proxy

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (a Refuse) act() string { return fmt.Sprintf("refuse %d", a.Code) }
func (Reset) act() string    { return "reset" }
func (Drop) act() string     { return "drop" }
func (Before) act() string   { return "before" }
func (After) act() string    { return "after" }
func (Along) act() string    { return "along" }

// silenced is the fault of a request that arrived before the operator was silenced and was not forwarded any longer.
const silenced = "silence"

// cut ends the request without an answer. With HTTP/2 it resets the stream, since other subjects' requests share the connection;
// with HTTP/1.1 it closes the connection. client-go does not retry such a write; the operator sees an error.
func cut() { panic(http.ErrAbortHandler) }

// happen executes the act on the request.
func (x *exchange) happen() {
	switch act := x.act.(type) {
	case Refuse:
		refuse(x.w, act, x.entry.Request)
	case Reset:
		cut()
	case Before:
		x.arrived()
		act.Do()
		cut()
	case Drop:
		x.forward()
		cut()
	case After:
		x.forward()
		x.arrived()
		act.Do()
		cut()
	case Along:
		a := x.forward()
		act.Do()
		x.answer(a)
	default:
		x.answer(x.forward())
	}
}

// arrived waits until the earlier writes have ended, so that it does not depend on chance which of them were done.
func (x *exchange) arrived() {
	for _, ended := range x.earlier {
		select {
		case <-ended:
		case <-x.run.over:
		}
	}
}

// reason returns the reason that the API server gives with a code. A 409 has the reason Conflict even for a creation:
// AlreadyExists would be a false statement about the cluster, and not a fault.
func reason(code int) metav1.StatusReason {
	return map[int]metav1.StatusReason{
		http.StatusBadRequest:            metav1.StatusReasonBadRequest,
		http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
		http.StatusForbidden:             metav1.StatusReasonForbidden,
		http.StatusNotFound:              metav1.StatusReasonNotFound,
		http.StatusConflict:              metav1.StatusReasonConflict,
		http.StatusGone:                  metav1.StatusReasonExpired,
		http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
		http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
		http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError:   metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
		http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
	}[code]
}

// status returns the Status object of the API server for a failure.
func status(code int, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason(code), Message: message,
	}
}

func refuse(w http.ResponseWriter, act Refuse, q Request) {
	s := status(act.Code, fmt.Sprintf("injected: %s %s %q: %s", q.Verb, q.Resource, q.Name, http.StatusText(act.Code)))
	s.Details = &metav1.StatusDetails{Name: q.Name, Group: q.Group, Kind: q.Resource}
	if act.RetryAfter > 0 && (act.Code == http.StatusTooManyRequests || act.Code == http.StatusServiceUnavailable) {
		s.Details.RetryAfterSeconds = int32(math.Ceil(act.RetryAfter.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	send(w, s)
}

func send(w http.ResponseWriter, s *metav1.Status) {
	text, err := json.Marshal(s)
	if err != nil {
		cut()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	w.Write(text)
}

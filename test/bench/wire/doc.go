// Package wire answers one question: how do we talk to an API server so cheaply that we do not measure our own work?
//
// Requests are JSON over the transport of client-go, with its credentials and its single HTTP/2 connection; answers are
// decoded into whatever few fields the caller wants. There is no cache, no rate limit and no retry.
package wire

// Package clients answers one question: DO THE CLIENTS WORK WITH AN API SERVER AND THE OPERATOR?
//
// It has only tests. The programs in clients/LANGUAGE/examples run on one control plane, and what the API server publishes of the
// CRDs is compared with clients/openapi.json. A language without a toolchain on this machine is skipped, with a message.
package clients

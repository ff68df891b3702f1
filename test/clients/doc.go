// Package clients answers one question: DO THE CLIENTS WORK WITH AN API SERVER AND THE OPERATOR?
//
// It holds only tests: the programs in clients/LANGUAGE/examples run on one control plane, and what the API server publishes of the
// CRDs is compared with clients/openapi.json. A language whose toolchain is not on this machine is left out, with a message.
package clients

// Package environment answers one question: where does an operator run while it is measured?
//
// On a local control plane of its own, started for one measurement and thrown away after it, as the user whose
// permissions deploy/rbac gives, with an audit log of what that user asks for. Nothing stands between the operator and
// the API server.
package environment

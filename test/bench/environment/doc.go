// Package environment answers one question: where does an operator run while it is measured?
//
// It runs on its own local control plane, which is started for one measurement and removed after it, as the user whose permissions
// deploy/rbac gives, with an audit log of that user's requests. There is no proxy between the operator and the API server.
package environment

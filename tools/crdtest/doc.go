// Package crdtest asks the API server's own code whether it would take our CRDs. It holds only tests:
//
//	cd tools && go test -count=1 ./crdtest
//
// (The test cache does not notice when a file outside the module has changed: hence -count=1.)
//
// It stands in the module of the tools, because that code brings the CEL compiler and half of an API
// server along, which the operator's module shall not depend on.
package crdtest

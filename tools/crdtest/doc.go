// Package crdtest asks the API server's own code which objects it accepts under our CRDs. It holds only tests:
//
//	cd tools && go test -count=1 ./crdtest
//
// (The test cache does not notice when a file outside the module has changed: hence -count=1.)
//
// It is in the module of the tools, because that code depends on the CEL compiler and much of an API server, on which the operator's
// module must not depend.
package crdtest

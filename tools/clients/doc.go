// Command clients answers one question: HOW DO THE CLIENTS COME FROM THE CRDs?
//
//	make clients                          write openapi.json and the clients in Go, TypeScript, Python and Java
//	go -C tools run ./clients -only go    write the client in Go alone: needs neither node nor npm
//	go -C tools run ./clients -tools      install the generators of the other languages, and print where
//
// The steps are these; docs/decisions/0016-clients.md explains them:
//
//	document    openapi.json is what a cluster publishes for the CRDs in deploy/crd, built by the API server's own code; schemas
//	            that are the same in all kinds are in it once, under a name
//	go          code-generator reads the types in clients/go/pkg/apis, which are written by hand and compared with the document
//	typescript  openapi-typescript reads the document
//	python,     quicktype reads the document, in which pod templates are free objects
//	java
//	sum         generated.sum has the SHA-256 of the input and the output, in the format of sha256sum, so that a machine without
//	            node notices when they do not match
//
// It is in the module of the tools, since that has the code of an API server. The generators of code-generator are tools of the same
// module.
package main

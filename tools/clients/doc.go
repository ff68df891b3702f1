// Command clients answers one question: HOW DO THE CLIENTS COME FROM THE CRDs?
//
//	make clients                          write openapi.json and the clients in Go, TypeScript, Python and Java
//	go -C tools run ./clients -only go    write the client in Go alone: needs neither node nor npm
//	go -C tools run ./clients -tools      install the generators of the other languages, and print where
//
// It goes in these steps, told in docs/decisions/0016-clients.md:
//
//	document    openapi.json is what a cluster publishes of the CRDs in deploy/crd, built by the API server's own code; schemas
//	            that are the same in all kinds stand in it once, under a name
//	go          code-generator reads the types in clients/go/pkg/apis, which are written by hand and compared with the document
//	typescript  openapi-typescript reads the document
//	python,     quicktype reads the document, in which pod templates are free objects
//	java
//	sum         generated.sum has the SHA-256 of what was read and of what was written, in the format of sha256sum, so that a
//	            machine without node notices when they do not belong together
//
// It stands in the module of the tools, since the code of an API server is there. The generators of code-generator are tools of the
// module in tools/comparison, which has them already.
package main

// Vuln answers the question: does what the operator CALLS have known VULNERABILITIES?
//
// It runs govulncheck on the modules in the given folders, with a database that is a module and therefore needs no network once it is
// downloaded. With -live it queries vuln.go.dev instead, as a workflow does every day.
//
//	go -C tools/vuln run . ../.. ../image
package main

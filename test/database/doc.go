// Command database runs a command next to a PostgreSQL or MariaDB
// server, which it starts on a loopback port. STOIC_STORE is the URL of the databases, one for each control plane of a test:
//
//	go run ./test/database postgres go test ./test/integration
//
// The servers are Debian's (packages postgresql and mariadb-server). Nothing of a server is left at the end. Its data does not
// survive a power failure: it writes as fast as it can.
package main

// Command database answers one question: WHAT IF THE OBJECTS ARE IN A DATABASE? It runs a command beside a PostgreSQL or MariaDB
// server of its own, on a loopback port, with STOIC_STORE set to the URL at which each control plane of a test has a database:
//
//	go run ./test/database postgres go test ./test/integration
//
// The servers are Debian's (packages postgresql and mariadb-server). Nothing of one is left at the end, and nothing of it survives
// a power cut: it writes as fast as it can.
package main

// Package measure counts the requests of a user in the API server's audit log, and reads what a process has cost from the kernel.
package measure

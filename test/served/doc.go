// Package served writes and reads, for tests, what is installed for kinds of several versions.
package served

// Package measure answers one question: what did a process cost, and how long did others wait for it?
//
// Requests are counted in the API server's audit log, CPU time and memory are what the kernel says of the process, and
// times are those at which a watcher heard of something.
package measure

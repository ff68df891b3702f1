// Package parts runs one part of the control plane in this process: etcd, the
// API server, the server of custom resources, the controller manager, the
// scheduler, or the simulated nodes.
//
// Every part is the original program, unchanged, entered through its public
// command. It is the only package of this module that imports them, so that
// everything else compiles and tests in seconds.
package parts

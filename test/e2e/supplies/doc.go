// Package supplies makes the programs and images of a real node.
//
// Programs of Kubernetes are compiled from Go modules, those of the container runtime are extracted from Debian's packages, and
// images are written by hand. Nothing is installed on the machine, and nothing is pulled. All is kept in the user's cache.
package supplies

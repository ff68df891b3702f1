// Package access answers: who may talk to the control plane, and with what? It
// makes a certificate authority, certificates signed by it, and kubeconfigs
// that carry them. It needs nothing but the standard library.
package access

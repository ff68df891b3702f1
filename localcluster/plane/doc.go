// Package plane answers: how do the parts become one control plane? It chooses
// ports, makes certificates, configures the parts, starts them as children in
// the order in which they need each other, and says when they are ready.
package plane

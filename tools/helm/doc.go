// Package helm answers one question: WHAT DOES HELM MAKE OF THE CHART?
//
// It is a module of its own: the chart is rendered by the code of Helm 4 and of Helm 3, which depend on their own versions of the
// Kubernetes clients. The helm program is a tool of this module, go tool helm; the integration tests install the chart with it.
package helm

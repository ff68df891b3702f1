// Package helm answers one question: WHAT DOES HELM MAKE OF THE CHART?
//
// It is a module of its own: the chart is rendered by Helm's own code, by that of Helm 4 and that of Helm 3, which bring the
// clients of Kubernetes in versions of their choice. The program itself is a tool of this module, go tool helm; the integration
// tests install the chart with it.
package helm

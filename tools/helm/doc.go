// Package helm checks what Helm makes of the chart. It has only tests. The helm program is a tool of this module, go tool helm; the
// integration tests install the chart with it.
package helm

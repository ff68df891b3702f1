// Package certmanager answers one question: does cert-manager issue, renew and inject the certificates that deploy/ requests?
//
//	rig_test.go       a control plane in which cert-manager runs, as the program of tools/certmanager
//	deployed_test.go  our operator, with the command line of its Deployment and the Secrets that this mounts
//	chart_test.go     the conversion webhook and the metrics, by the chart and the commands of docs/versions.md
//	overlay_test.go   the metrics, by deploy/overlays/cert-manager
//
// `make certmanager` runs it. cert-manager takes minutes to compile, so a plain `go test` leaves it out.
package certmanager

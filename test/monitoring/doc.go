// Package monitoring answers one question: do the dashboards and alerts of deploy/monitoring show what happens?
//
//	run_test.go         a real Prometheus scrapes two real processes of the operator under a mixed load; no panel is empty
//	prometheus_test.go  that Prometheus
//	load_test.go        that load
//	record.go           what the panels showed at the end of such a run: docs/monitoring/panels.json
//	picture.go          the dashboards as pictures, drawn from it: docs/monitoring/*.svg
//
// `make monitoring` runs it. A plain `go test` draws the pictures from the recorded data, and compares them with the files.
package monitoring

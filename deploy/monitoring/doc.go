// Package monitoring answers one question: what does an administrator see of it, and what alerts him?
//
//	alerts.go, alerts_*.go   the conditions of alerts, and for how long they must hold
//	recordings.go            what dashboards query repeatedly, computed once
//	expression.go            how an expression distinguishes our processes from others, and a first count from none
//	rules.go                 -> rules.yaml, prometheusrule.yaml
//	dashboard*.go            -> dashboards/*.json
//	page.go                  -> docs/reference/alerts.md
//	files.go                 all generated files, and their paths
//
// The files must not be edited: go run ./deploy/monitoring/generate writes them. tools/promql tests each rule on series, and checks that
// each expression uses existing metrics.
package monitoring

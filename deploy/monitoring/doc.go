// Package monitoring answers one question: what does an administrator see of it, and when is he woken?
//
//	alerts.go, alerts_*.go   what is wrong, and since when it must have been
//	recordings.go            what dashboards ask again and again, computed once
//	expression.go            how an expression tells our processes from others, and a first count from none
//	rules.go                 -> rules.yaml, prometheusrule.yaml
//	dashboard*.go            -> dashboards/*.json
//	page.go                  -> docs/reference/alerts.md
//	files.go                 all files that are generated, and where each stands
//
// Nobody edits the files: go run ./deploy/monitoring/generate writes them. tools/promql holds each rule to what it must do on
// series, and each expression to the metrics that there are.
package monitoring

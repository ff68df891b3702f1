// Package promql answers one question: do the rules and dashboards of deploy/monitoring do what they say?
//
//	memory.go      series in memory, as Prometheus' own query engine reads them
//	evaluate.go    a rule file, evaluated step by step with that engine: recordings are kept, alerts become pending and fire
//	scenario.go    test files in the format of promtool test rules, one for each alert in testdata/alerts
//	vocabulary.go  the metrics and labels that there are, from docs/reference/metrics.md
//
// The engine, the parsers and the templates are Prometheus' own modules. Its packages rules and tsdb are not used, as they need a
// database and the clients of every cloud: minutes of compiling.
package promql

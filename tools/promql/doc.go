// Package promql tests the rules and dashboards of deploy/monitoring with Prometheus' own parsers and query engine. It has only tests.
// Promtool, which reads the same scenarios, takes a quarter of an hour to compile.
package promql

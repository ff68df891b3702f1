// Package report answers one question: what was measured, and is it within the budgets?
//
// A Report is the result of one run of the benchmark, as JSON. Tables, pages and plots are made only from it.
package report

// Package report answers one question: what was measured, and is it within the budgets?
//
// A Report is what one run of the benchmark leaves as JSON. Tables, pages and plots are made from it and from nothing else.
package report

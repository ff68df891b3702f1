// Package plot answers one question: what does it look like?
//
// It draws line and bar charts as SVG, which browsers and code hosts show without further tools. The same data gives the same bytes.
package plot

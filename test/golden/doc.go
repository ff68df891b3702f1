// Package golden answers one question: is what a test writes down what was written down before?
package golden

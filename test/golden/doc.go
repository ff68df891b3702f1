// Package golden compares the output of a test with what was recorded before.
package golden

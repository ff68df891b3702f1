// Package rules tests the structure of the project and its texts: which layer may import which, that the exported API of the
// engine is documented and does not change unnoticed, and that documents name tests, files and jobs that exist.
package rules

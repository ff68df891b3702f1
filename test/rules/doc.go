// Package rules answers one question: WHO MAY KNOW WHOM?
//
// Its tests enforce the project's structure: which package may import which, and that every folder says what question it answers.
// They also check its texts: a job in a text is a valid job, and a test that a text names exists. Names and comments use the
// words of Kubernetes.
package rules

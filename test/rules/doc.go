// Package rules answers one question: WHO MAY KNOW WHOM?
//
// Its tests hold the project's structure: which package may import which, and that every folder says what
// question it answers. They also hold its texts to the truth: a job in a text is a job, and a test that is said to show
// something is there. Names and comments keep to the words of Kubernetes.
package rules

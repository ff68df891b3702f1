// Package workflows checks the workflows of GitHub Actions against the rest of the project. It has only tests; actionlint, a tool of this
// module, checks their syntax.
package workflows

// Package authors answers one question: DOES THE TUTORIAL OF docs/authors.md WORK AS IT IS WRITTEN?
//
// Parse reads the tutorial: steps with blocks, each of them a file, a part of one, commands, or commands with their output. A
// Folder collects the files of step after step. The tests run each step's commands in a separate module, and the program of the
// last step on a control plane.
package authors

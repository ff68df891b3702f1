// Package authors answers one question: DOES THE TUTORIAL OF docs/authors.md WORK AS IT IS WRITTEN?
//
// Parse reads the tutorial: steps with blocks, each a file, a piece of one, commands, or commands with what they print. A Folder
// takes the files of step after step. The tests run each step's commands in a module of its own, and the program of the last step
// on a control plane.
package authors

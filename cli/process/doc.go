// Package process answers one question: HOW DOES A PROGRAM END TOGETHER WITH WHAT IT STARTED?
//
// The go command starts compilers, linkers and the programs that it runs. A signal to the go command alone leaves them running.
package process

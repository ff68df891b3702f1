//go:build !unix

package process

import "os/exec"

// Separate has nothing to do where there are no process groups.
func Separate(*exec.Cmd) {}

// interrupt leaves the default: the end of the context kills the command.
func interrupt(*exec.Cmd) {}

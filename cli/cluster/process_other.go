//go:build !unix

package cluster

import "os/exec"

// separate has nothing to do where there are no process groups.
func separate(*exec.Cmd) {}

// interruptible leaves the default: a cancelled context kills the command.
func interruptible(*exec.Cmd) {}

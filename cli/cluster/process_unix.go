//go:build unix

package cluster

import (
	"os/exec"
	"syscall"
)

// separate gives the command a process group of its own, so that an interrupt
// typed at a terminal does not end it behind our back.
func separate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// interruptible makes a cancelled context interrupt the command together with
// the processes that it started.
func interruptible(command *exec.Cmd) {
	separate(command)
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
}

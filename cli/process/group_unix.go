//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// Separate gives the command a process group of its own, so that an interrupt typed at a terminal does not reach it directly.
func Separate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// interrupt makes the end of the context send SIGINT to the whole group.
func interrupt(command *exec.Cmd) {
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
}

package upheaval

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends a child when this process ends, however it ends. Like every death signal it follows the thread that
// started the child.
func dieWithUs(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

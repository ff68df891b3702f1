package operator

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill a child when this process ends, however it ends.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

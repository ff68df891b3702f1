package supervise

import "syscall"

// attributes keep a child out of our process group, so that an interrupt typed
// at a terminal reaches only us and the children end in order. The death signal
// is the second safety net besides the lifeline: it works even for a child that
// hangs.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

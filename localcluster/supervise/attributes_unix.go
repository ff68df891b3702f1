//go:build unix && !linux

package supervise

import "syscall"

// attributes keep a child out of our process group, so that an interrupt typed
// at a terminal reaches only us and the children end in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

//go:build !unix

package supervise

import "syscall"

// attributes has nothing to add where there are no process groups.
func attributes() *syscall.SysProcAttr { return nil }

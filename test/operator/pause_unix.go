//go:build unix

package operator

import "syscall"

// Pause lets the operator stand still, as on a machine that is suspended.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused operator continue.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

//go:build unix

package operator

import "syscall"

// Pause pauses the operator, as on a suspended machine.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused operator continue.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

//go:build !linux

package upheaval

import "os/exec"

// dieWithUs: other systems have no death signal. A plan that is cancelled still stops what it started.
func dieWithUs(*exec.Cmd) {}

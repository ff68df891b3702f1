package cell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// dieWithUs ends a child when this process ends, however it ends.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// footprint of a process: resident bytes and open files.
func footprint(pid int) (resident int64, files int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmRSS:" {
			kib, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			resident = kib << 10
		}
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return resident, len(open)
}

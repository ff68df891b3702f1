//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Addresses within the sandbox. Those of services are the node's own: the only two services need no proxy.
const (
	nodeAddress   = "10.88.0.1"
	podNetwork    = "10.88.0.0/16"
	serviceRange  = "10.96.0.0/16"
	serverAddress = "10.96.0.1" // the service "kubernetes" has the first of the range
	namesAddress  = "10.96.0.10"
	bridge        = "pods0"
)

// sandbox holds the namespaces of a node.
type sandbox struct {
	dir      string
	first    *exec.Cmd
	lifeline io.Closer
}

// enclose starts the first process of new namespaces and sets them up. It binds dir to where the programs of a node write by
// default, and hides the folders of the machine that they would write into.
func enclose(ctx context.Context, dir, pause string) (*sandbox, error) {
	s := &sandbox{dir: dir, first: exec.Command(pause, "-lifeline")}
	s.first.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, // an interrupt typed at a terminal reaches this process alone, and the node ends in order
		// The mounts are unshared in the child, which makes them private first.
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS, Unshareflags: syscall.CLONE_NEWNS,
	}
	var err error
	if s.lifeline, err = s.first.StdinPipe(); err != nil {
		return nil, fmt.Errorf("connect to the node: %w", err)
	}
	if err := s.first.Start(); err != nil {
		return nil, fmt.Errorf("make namespaces for the node: %w", err)
	}
	if out, err := s.command(ctx, "sh", "-ec", furnish, "sh", filepath.Join(dir, "lib"), nodeAddress, bridge, serverAddress, namesAddress).CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("furnish the namespaces of the node: %w\n%s", err, out), s.end())
	}
	return s, nil
}

// furnish sets the address of the bridge: without one it takes that of one of its ports, and pods would lose it as others are
// created and deleted.
const furnish = `
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mount --bind "$1" /var/lib
ip link set lo up
ip link add "$3" address 0a:58:0a:58:00:01 type bridge
ip address add "$2/16" dev "$3"
ip link set "$3" up
ip address add "$4/32" dev lo
ip address add "$5/32" dev lo
`

// command runs a program within the sandbox. It ends with the context, or with the sandbox.
func (s *sandbox) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	target := strconv.Itoa(s.first.Process.Pid)
	c := exec.CommandContext(ctx, "nsenter", append([]string{"--target", target, "--pid", "--mount", "--net", "--ipc", "--uts", "--", program}, args...)...)
	c.Env = append(os.Environ(), "TMPDIR="+filepath.Join(s.dir, "tmp"), "HOME="+filepath.Join(s.dir, "tmp"))
	// nsenter forks to enter the PID namespace: the program is its child, and ends with its group.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return c
}

// end ends all processes of the sandbox. When it returns none is left.
func (s *sandbox) end() error {
	// The end of its input ends the first process, and the kernel ends the others before the first has ended.
	err := s.lifeline.Close()
	if failure := s.first.Wait(); failure != nil {
		err = errors.Join(err, failure)
	}
	if err != nil {
		return fmt.Errorf("end the processes of the node: %w", err)
	}
	return nil
}

// hierarchies returns the folders in which cgroups are created: one for each controller, or one for all.
func hierarchies() ([]string, error) {
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("look for cgroups: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") {
			found = append(found, fields[1])
		}
	}
	if len(found) == 0 {
		return nil, errors.New("look for cgroups: none are mounted")
	}
	return found, nil
}

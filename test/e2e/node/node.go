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
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"stoic/test/e2e/supplies"
)

// Name is the name of the node in the API server.
const Name = name

// Node is a running cluster of one node.
type Node struct {
	dir      string
	supplies *supplies.Supplies
	sandbox  *sandbox
	progress io.Writer
	began    time.Time

	parts sync.WaitGroup
	// imports of images: the first are needed immediately, the late ones later. See Imported.
	first, late errgroup.Group
	// ctx ends when a part has ended; its cause says which, and has the end of its log.
	ctx  context.Context
	fail context.CancelCauseFunc
}

// readyTimeout is that of one part. A machine may be busy.
const readyTimeout = 3 * time.Minute

// Start starts a node and returns when it accepts pods; see Imported. It removes what a killed one has left. The caller holds the
// supplies, so there is one at a time. The node ends with Stop, or with this process.
func Start(ctx context.Context, s *supplies.Supplies, progress io.Writer) (_ *Node, err error) {
	n := &Node{dir: filepath.Join(s.Dir, "node"), supplies: s, progress: progress, began: time.Now()}
	n.ctx, n.fail = context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop())
		}
	}()
	if err := n.prepare(); err != nil {
		return nil, err
	}
	if n.sandbox, err = enclose(n.ctx, n.dir, s.Program("pause")); err != nil {
		return nil, err
	}
	plane, kubectl := s.ControlPlane, func(args ...string) []string { return append([]string{s.Program("kubectl")}, n.kubectl(args)...) }
	ctr := n.ctr()
	for _, step := range []step{
		{part: runtime, run: []string{s.Debian("usr/bin/" + runtime), "--config", n.path("containerd.toml"), "--address", socket}, ready: append(ctr, "version")},
		{part: store, run: append([]string{plane}, n.storeArguments()...)},
		{part: server, run: append([]string{plane}, n.serverArguments()...), ready: kubectl("get", "--raw", "/readyz")},
		{part: controllers, run: append([]string{plane}, n.controllerArguments()...)},
		{part: scheduler, run: append([]string{plane}, n.schedulerArguments()...)},
		{part: names, run: []string{s.Program("coredns"), "-conf", n.path("Corefile")}},
		{part: kubelet, run: append([]string{s.Program(kubelet)}, n.kubeletArguments()...), ready: kubectl("wait", "--for=condition=Ready", "--timeout=5s", "node/"+name)},
	} {
		if err := n.take(step); err != nil {
			return nil, err
		}
		if step.part == runtime {
			n.importImages()
		}
	}
	if err := n.first.Wait(); err != nil {
		return nil, err
	}
	n.say("ready")
	return n, nil
}

// importImages lets containerd unpack the images: the first ones one after the other, and in parallel the late ones, which are large.
func (n *Node) importImages() {
	for late, group := range map[bool]*errgroup.Group{false: &n.first, true: &n.late} {
		group.Go(func() error {
			for _, image := range n.supplies.Images {
				if image.Late != late {
					continue
				}
				n.say("import the image %s", image.Name)
				if err := n.run(append(n.ctr(), "images", "import", image.Tar)); err != nil {
					return fmt.Errorf("import the image %s: %w", image.Name, err)
				}
			}
			return nil
		})
	}
}

// Imported waits until the node has the late images, too.
func (n *Node) Imported() error { return n.late.Wait() }

// step is a part to start, and a command that succeeds when the part is ready.
type step struct {
	part       string
	run, ready []string
}

func (n *Node) path(elements ...string) string {
	return filepath.Join(append([]string{n.dir}, elements...)...)
}
func (n *Node) secret(file string) string { return n.path("secrets", file) }
func (n *Node) log(part string) string    { return n.path("logs", part+".log") }

func (n *Node) say(format string, args ...any) {
	fmt.Fprintf(n.progress, "%4.0f s  %s\n", time.Since(n.began).Seconds(), fmt.Sprintf(format, args...))
}

// prepare recreates the folder and the cgroups.
func (n *Node) prepare() error {
	if err := n.remove(); err != nil {
		return err
	}
	for _, folder := range []string{"lib", "logs", "secrets", "tmp", "opt", "volume-plugins"} {
		if err := os.MkdirAll(n.path(folder), 0o755); err != nil {
			return fmt.Errorf("make a folder for the node: %w", err)
		}
	}
	tops, err := hierarchies()
	if err != nil {
		return err
	}
	for _, top := range tops {
		if err := os.MkdirAll(filepath.Join(top, cgroup), 0o755); err != nil {
			return fmt.Errorf("make cgroups for the node: %w", err)
		}
	}
	if err := identities(n.path("secrets")); err != nil {
		return fmt.Errorf("make keys and certificates for the node: %w", err)
	}
	return n.configure(n.supplies)
}

// remove removes what a node leaves: none of its processes runs any longer.
func (n *Node) remove() error {
	tops, err := hierarchies()
	if err != nil {
		return err
	}
	for _, top := range tops {
		if err := removeCgroups(filepath.Join(top, cgroup)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("remove the folder of the node: %w", err)
	}
	return nil
}

// removeCgroups removes a cgroup and those below it. The kernel may take a moment to notice that their processes have ended.
func removeCgroups(top string) error {
	entries, err := os.ReadDir(top)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for cgroups: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeCgroups(filepath.Join(top, entry.Name())); err != nil {
				return err
			}
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := syscall.Rmdir(top)
		if err == nil || err == syscall.ENOENT {
			return nil
		}
		if err != syscall.EBUSY || time.Now().After(deadline) {
			return fmt.Errorf("remove the cgroup %s: %w", top, err)
		}
		time.Sleep(50 * time.Millisecond) // polling: the kernel sends no notice
	}
}

// take starts a part and waits until it is ready.
func (n *Node) take(s step) error {
	n.say("start %s", s.part)
	log, err := os.Create(n.log(s.part))
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", s.part, err)
	}
	c := n.sandbox.command(context.Background(), s.run[0], s.run[1:]...)
	// Containerd searches its shim there.
	c.Env = append(c.Env, "PATH="+n.supplies.Debian("usr/bin")+":"+n.supplies.Debian("usr/sbin")+":"+os.Getenv("PATH"))
	c.Stdout, c.Stderr = log, log
	err = c.Start()
	log.Close() // the part has its own
	if err != nil {
		return fmt.Errorf("start %s: %w", s.part, err)
	}
	n.parts.Go(func() {
		err := c.Wait()
		n.fail(fmt.Errorf("%s has ended (%v):\n%s", s.part, err, n.tail(s.part)))
	})
	if s.ready == nil {
		return nil
	}
	deadline := time.Now().Add(readyTimeout)
	for {
		err := n.run(s.ready)
		switch {
		case err == nil:
			return nil
		case n.ctx.Err() != nil:
			return context.Cause(n.ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("wait until %s is ready: %w\n%s", s.part, err, n.tail(s.part))
		}
		time.Sleep(100 * time.Millisecond) // polling: a part sends no notice that it is ready
	}
}

func (n *Node) run(command []string) error {
	ctx, cancel := context.WithTimeout(n.ctx, readyTimeout)
	defer cancel()
	if out, err := n.sandbox.command(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return nil
}

// tail returns the end of a part's log, for a message about a failure.
func (n *Node) tail(part string) string {
	content, err := os.ReadFile(n.log(part))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Context returns a context that ends when the node does, by itself or by Stop.
func (n *Node) Context() context.Context { return n.ctx }

// Kubectl returns a kubectl command of the cluster's admin.
func (n *Node) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return n.sandbox.command(ctx, n.supplies.Program("kubectl"), n.kubectl(args)...)
}

func (n *Node) kubectl(args []string) []string {
	return append([]string{"--kubeconfig", n.secret(admin + ".kubeconfig")}, args...)
}

// Helm returns a helm command of the same user.
func (n *Node) Helm(ctx context.Context, args ...string) *exec.Cmd {
	return n.sandbox.command(ctx, n.supplies.Program("helm"), append([]string{"--kubeconfig", n.secret(admin + ".kubeconfig")}, args...)...)
}

// Task acts on the processes of a container, as "kill", "--signal", "KILL": what a kubelet would not do.
func (n *Node) Task(verb string, args ...string) error {
	return n.run(append(append(n.ctr(), "task", verb), args...))
}

func (n *Node) ctr() []string {
	return []string{n.supplies.Debian("usr/bin/ctr"), "--address", socket, "--namespace", "k8s.io"}
}

// Stop ends the node and removes its files.
func (n *Node) Stop() error {
	n.fail(errors.New("the node is stopped"))
	if n.sandbox != nil {
		if err := n.sandbox.end(); err != nil {
			return err
		}
		n.parts.Wait()
	}
	return n.remove()
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"stoic/test/faults/proxy"
	"stoic/test/operator"
)

// Options say what a sandbox is made of.
type Options struct {
	// Operator is its command line, with the placeholders of operator.Options. {kubeconfig} leads to the proxy, {namespace} is
	// the sandbox's, and {flags} are those that a scenario needs of Stoic; most need none.
	Operator []string
	// Upstream is how the operator's user reaches the API server.
	Upstream  *rest.Config
	Namespace string
	// Dir takes the kubeconfig and the operator's log.
	Dir string
}

// Sandbox is one operator and its proxy. Its methods may be called by one goroutine, except for Kill.
type Sandbox struct {
	options Options
	Proxy   *proxy.Proxy

	mu      sync.Mutex
	process *operator.Process
	flags   []string
	starts  int
	// unexpected are the ends that nobody asked for.
	unexpected []string
}

// Open starts the proxy; the operator is started by Serve.
func Open(o Options) (*Sandbox, error) {
	if len(o.Operator) == 0 {
		return nil, errors.New("no command line for the operator")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a sandbox: %w", err)
	}
	p, err := proxy.Start(o.Upstream)
	if err != nil {
		return nil, fmt.Errorf("start the proxy of %s: %w", o.Namespace, err)
	}
	c := &Sandbox{options: o, Proxy: p}
	if err := p.WriteKubeconfig(c.kubeconfig()); err != nil {
		return nil, errors.Join(fmt.Errorf("write the kubeconfig of %s: %w", o.Namespace, err), p.Close())
	}
	return c, nil
}

func (c *Sandbox) kubeconfig() string { return filepath.Join(c.options.Dir, "kubeconfig") }

// Log is the file of what the operator has written, all its processes one after another.
func (c *Sandbox) Log() string { return filepath.Join(c.options.Dir, "operator.log") }

// Namespace that the sandbox's operator serves.
func (c *Sandbox) Namespace() string { return c.options.Namespace }

// Serve makes sure that an operator runs with these flags. One that runs with others is killed.
func (c *Sandbox) Serve(flags []string) error {
	c.mu.Lock()
	running := c.process
	same := running != nil && slices.Equal(flags, c.flags)
	c.mu.Unlock()
	if same && running.Alive() {
		return nil
	}
	c.Kill()
	return c.Start(flags)
}

// Start starts an operator; none may be running.
func (c *Sandbox) Start(flags []string) error {
	c.Proxy.Resume()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	p, err := operator.Start(operator.Options{Command: c.options.Operator, Kubeconfig: c.kubeconfig(), Namespace: c.options.Namespace, Flags: flags, Log: c.Log()})
	if err != nil {
		return err
	}
	c.process, c.flags = p, flags
	return nil
}

// Kill ends the operator as a power cut would: nothing that it sends from now on reaches the API server. It may be
// called from a fault's callback, and when nothing runs.
func (c *Sandbox) Kill() {
	c.Proxy.Silence()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return
	}
	if err := c.process.Kill(); err != nil {
		c.unexpected = append(c.unexpected, err.Error())
	}
	c.process = nil
}

// Restart is a crash and a new process with the same flags.
func (c *Sandbox) Restart() error {
	c.mu.Lock()
	flags := c.flags
	c.mu.Unlock()
	c.Kill()
	return c.Start(flags)
}

// Alive says whether an operator runs, without being asked to die.
func (c *Sandbox) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process != nil && c.process.Alive()
}

// Starts counts processes so far.
func (c *Sandbox) Starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// Unexpected returns, and forgets, the ends of processes that nobody asked for.
func (c *Sandbox) Unexpected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.unexpected
	c.unexpected = nil
	if c.process != nil && !c.process.Alive() {
		found = append(found, "the operator has ended by itself")
	}
	return found
}

// Memory of the running process in bytes, and its open files; zeros if they cannot be read (not Linux, not running).
func (c *Sandbox) Memory() (resident int64, files int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0, 0
	}
	f, _ := c.process.Footprint() // zeros, as is said above
	return f.Resident, f.Files
}

// Close stops the operator as Kubernetes does, and the proxy.
func (c *Sandbox) Close(ctx context.Context) error {
	c.mu.Lock()
	p := c.process
	c.process = nil
	c.mu.Unlock()
	var stopped error
	if p != nil {
		stopped = p.Stop(ctx)
	}
	return errors.Join(stopped, c.Proxy.Close())
}

// Trouble returns the lines of the operator's log, from an offset, that tell of a panic or a data race, and the new
// offset.
func (c *Sandbox) Trouble(from int64) (lines []string, to int64) {
	text, err := os.ReadFile(c.Log())
	if err != nil || int64(len(text)) < from {
		return nil, from
	}
	return operator.Trouble(string(text[from:])), int64(len(text))
}

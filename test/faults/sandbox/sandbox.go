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

// Options say what a sandbox consists of.
type Options struct {
	// Operator is its command line, with the placeholders of operator.Options. {kubeconfig} points to the proxy, {namespace} is
	// the sandbox's, and {flags} are those that a scenario needs of Stoic; most need none.
	Operator []string
	// Processes are the additional flags of each process of an operator that runs as several; nil: it is one, without any. Each
	// may be killed alone.
	Processes [][]string
	// Upstream is how the operator's user reaches the API server.
	Upstream  *rest.Config
	Namespace string
	// Dir is for the kubeconfig and the operator's log.
	Dir string
}

// Sandbox is one operator and its proxy. Only one goroutine may call its methods, except Kill.
type Sandbox struct {
	options Options
	Proxy   *proxy.Proxy

	mu        sync.Mutex
	processes []*operator.Process // nil: it does not run
	flags     []string
	// unexpected are the ends of processes that the sandbox did not cause.
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
	if o.Processes == nil {
		o.Processes = [][]string{nil}
	}
	c := &Sandbox{options: o, Proxy: p, processes: make([]*operator.Process, len(o.Processes))}
	for i := range o.Processes {
		if err := p.WriteKubeconfigOf(c.kubeconfig(i), nameOf(i)); err != nil {
			return nil, errors.Join(fmt.Errorf("write the kubeconfig of %s: %w", o.Namespace, err), p.Close())
		}
	}
	return c, nil
}

// nameOf returns the name by which the proxy knows a process.
func nameOf(i int) string { return fmt.Sprint("process-", i) }

func (c *Sandbox) kubeconfig(i int) string {
	return filepath.Join(c.options.Dir, fmt.Sprint("kubeconfig-", i))
}

// IsApart reports whether the operator runs as several processes.
func (c *Sandbox) IsApart() bool { return len(c.processes) > 1 }

// Log returns the operator's log file: the output of all its processes, one after another.
func (c *Sandbox) Log() string { return filepath.Join(c.options.Dir, "operator.log") }

// Namespace returns the namespace that the sandbox's operator serves.
func (c *Sandbox) Namespace() string { return c.options.Namespace }

// Serve makes sure that an operator runs with these flags. One that runs with others is killed.
func (c *Sandbox) Serve(flags []string) error {
	c.mu.Lock()
	same := slices.Equal(flags, c.flags)
	c.mu.Unlock()
	if same && c.Alive() {
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
	c.flags = flags
	for i := range c.processes {
		if err := c.start(i); err != nil {
			return err
		}
	}
	return nil
}

// start starts one process. The caller holds the lock.
func (c *Sandbox) start(i int) (err error) {
	c.Proxy.ResumeOf(nameOf(i))
	c.processes[i], err = operator.Start(operator.Options{Command: c.options.Operator, Kubeconfig: c.kubeconfig(i), Namespace: c.options.Namespace,
		Flags: slices.Concat(c.flags, c.options.Processes[i]), Log: c.Log()})
	return err
}

// Kill ends the operator as a power failure would: nothing that it sends from now on reaches the API server. A fault's callback
// may call it, and it may be called when nothing runs.
func (c *Sandbox) Kill() {
	c.Proxy.Silence()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.processes {
		c.kill(i)
	}
}

// kill kills one process, if it runs. The caller holds the lock.
func (c *Sandbox) kill(i int) {
	if c.processes[i] == nil {
		return
	}
	if err := c.processes[i].Kill(); err != nil {
		c.unexpected = append(c.unexpected, err.Error())
	}
	c.processes[i] = nil
}

// Restart kills the operator and starts it again with the same flags.
func (c *Sandbox) Restart() error {
	c.mu.Lock()
	flags := c.flags
	c.mu.Unlock()
	c.Kill()
	return c.Start(flags)
}

// RestartOne kills and starts the process with that name in the proxy; the others keep running. If others is true, it restarts
// the others, and that process keeps running.
func (c *Sandbox) RestartOne(name string, others bool) error {
	for i := range c.options.Processes {
		if (nameOf(i) == name) == others {
			continue
		}
		c.Proxy.SilenceOf(nameOf(i))
		c.mu.Lock()
		c.kill(i)
		err := c.start(i)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Alive reports whether all processes of the operator run and none was killed.
func (c *Sandbox) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.processes, func(p *operator.Process) bool { return p == nil || !p.Alive() })
}

// Unexpected returns, and forgets, the ends of processes that the sandbox did not cause.
func (c *Sandbox) Unexpected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.unexpected
	c.unexpected = nil
	for _, p := range c.processes {
		if p != nil && !p.Alive() {
			found = append(found, "the operator has ended by itself")
		}
	}
	return found
}

// Memory returns the memory of the running processes in bytes, and their open files; zeros if they cannot be read (not Linux, not
// running).
func (c *Sandbox) Memory() (resident int64, files int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		if p != nil {
			f, _ := p.Footprint() // zeros, as is said above
			resident, files = resident+f.Resident, files+f.Files
		}
	}
	return resident, files
}

// Close stops the operator as Kubernetes does, and the proxy.
func (c *Sandbox) Close(ctx context.Context) error {
	c.mu.Lock()
	all := slices.Clone(c.processes)
	clear(c.processes)
	c.mu.Unlock()
	var failed []error
	for _, p := range all {
		if p != nil {
			failed = append(failed, p.Stop(ctx))
		}
	}
	return errors.Join(append(failed, c.Proxy.Close())...)
}

// Trouble returns the lines of the operator's log, from an offset, that report a panic or a data race, and the new offset.
func (c *Sandbox) Trouble(from int64) (lines []string, to int64) {
	text, err := os.ReadFile(c.Log())
	if err != nil || int64(len(text)) < from {
		return nil, from
	}
	return operator.Trouble(string(text[from:])), int64(len(text))
}

package cell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"stoic/test/faults/proxy"
)

// Options say what a cell is made of.
type Options struct {
	// Operator is the command line of the operator. In its words are replaced:
	//
	//	{kubeconfig}  a file that leads to the proxy; KUBECONFIG is set to it too
	//	{namespace}   the cell's namespace
	//	{metrics}     a free loopback address, for its metrics
	//	{probes}      another one
	//	{flags}       the flags that a scenario needs of Stoic, each a word; nothing for most
	Operator []string
	// Upstream is how the operator's user reaches the API server.
	Upstream  *rest.Config
	Namespace string
	// Dir takes the kubeconfig and the operator's log.
	Dir string
}

// Cell is one operator and its proxy. Its methods may be called by one goroutine, except for Kill.
type Cell struct {
	options Options
	Proxy   *proxy.Proxy

	mu      sync.Mutex
	process *process
	flags   []string
	starts  int
	// unexpected are the ends that nobody asked for.
	unexpected []string
}

// Open starts the proxy; the operator is started by Serve.
func Open(o Options) (*Cell, error) {
	if len(o.Operator) == 0 {
		return nil, errors.New("no command line for the operator")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a cell: %w", err)
	}
	p, err := proxy.Start(o.Upstream)
	if err != nil {
		return nil, fmt.Errorf("start the proxy of %s: %w", o.Namespace, err)
	}
	c := &Cell{options: o, Proxy: p}
	if err := p.WriteKubeconfig(c.kubeconfig()); err != nil {
		return nil, errors.Join(fmt.Errorf("write the kubeconfig of %s: %w", o.Namespace, err), p.Close())
	}
	return c, nil
}

func (c *Cell) kubeconfig() string { return filepath.Join(c.options.Dir, "kubeconfig") }

// Log is the file of what the operator has written, all its processes one after another.
func (c *Cell) Log() string { return filepath.Join(c.options.Dir, "operator.log") }

// Namespace that the cell's operator serves.
func (c *Cell) Namespace() string { return c.options.Namespace }

// Serve makes sure that an operator runs with these flags. One that runs with others is killed.
func (c *Cell) Serve(flags []string) error {
	c.mu.Lock()
	running := c.process
	same := running != nil && slices.Equal(flags, c.flags)
	c.mu.Unlock()
	if same && running.alive() {
		return nil
	}
	c.Kill()
	return c.Start(flags)
}

// Start starts an operator; none may be running.
func (c *Cell) Start(flags []string) error {
	c.Proxy.Resume()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	p, err := launch(c.command(flags), append(os.Environ(), "KUBECONFIG="+c.kubeconfig()), c.Log())
	if err != nil {
		return err
	}
	c.process, c.flags = p, flags
	return nil
}

func (c *Cell) command(flags []string) []string {
	var words []string
	replace := strings.NewReplacer("{kubeconfig}", c.kubeconfig(), "{namespace}", c.options.Namespace, "{metrics}", freeAddress(), "{probes}", freeAddress())
	for _, word := range c.options.Operator {
		if word == "{flags}" {
			words = append(words, flags...)
			continue
		}
		words = append(words, replace.Replace(word))
	}
	return words
}

// freeAddress finds a loopback port that nobody listens on; "127.0.0.1:0" if there is none, which every listener takes.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return l.Addr().String()
}

// Kill ends the operator as a power cut would: nothing that it sends from now on reaches the API server. It may be
// called from a fault's callback, and when nothing runs.
func (c *Cell) Kill() {
	c.Proxy.Silence()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return
	}
	if err, ended := c.process.kill(); ended {
		c.unexpected = append(c.unexpected, fmt.Sprintf("the operator had ended by itself: %v", err))
	}
	c.process = nil
}

// Restart is a crash and a new process with the same flags.
func (c *Cell) Restart() error {
	c.mu.Lock()
	flags := c.flags
	c.mu.Unlock()
	c.Kill()
	return c.Start(flags)
}

// Alive says whether an operator runs, without being asked to die.
func (c *Cell) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process != nil && c.process.alive()
}

// Starts counts processes so far.
func (c *Cell) Starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// Unexpected returns, and forgets, the ends of processes that nobody asked for.
func (c *Cell) Unexpected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.unexpected
	c.unexpected = nil
	if c.process != nil && !c.process.alive() {
		found = append(found, "the operator has ended by itself")
	}
	return found
}

// Memory of the running process in bytes, and its open files; zeros if they cannot be read (not Linux, not running).
func (c *Cell) Memory() (resident int64, files int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0, 0
	}
	return footprint(c.process.pid())
}

// Close stops the operator as Kubernetes does, and the proxy.
func (c *Cell) Close(ctx context.Context) error {
	c.mu.Lock()
	p := c.process
	c.process = nil
	c.mu.Unlock()
	var stopped error
	if p != nil {
		stopped = p.stop(ctx)
	}
	return errors.Join(stopped, c.Proxy.Close())
}

// process is one run of the operator.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the end; read after ended is closed
}

func launch(words, environment []string, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the operator's log: %w", err)
	}
	p := &process{cmd: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environment, log, log
	dieWithUs(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the operator: %w", err), log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		log.Close()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill returns when the process is gone, and says whether it had ended before.
func (p *process) kill() (err error, before bool) {
	if !p.alive() {
		return p.err, true
	}
	_ = p.cmd.Process.Kill() // fails only of a process that is gone
	<-p.ended
	return nil, false
}

func (p *process) stop(ctx context.Context) error {
	if !p.alive() {
		return fmt.Errorf("the operator had ended by itself: %w", p.err)
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // as above
	ctx, cancel := context.WithTimeout(ctx, 35*time.Second)
	defer cancel()
	select {
	case <-p.ended:
		if p.err != nil {
			return fmt.Errorf("the operator was told to stop and ended with %w", p.err)
		}
		return nil
	case <-ctx.Done():
		p.kill()
		return errors.New("the operator did not stop when it was told to")
	}
}

// Trouble returns the lines of the operator's log, from an offset, that tell of a panic or a data race, and the new
// offset.
func (c *Cell) Trouble(from int64) (lines []string, to int64) {
	text, err := os.ReadFile(c.Log())
	if err != nil || int64(len(text)) < from {
		return nil, from
	}
	for line := range bytes.Lines(text[from:]) {
		if bytes.Contains(line, []byte("DATA RACE")) || bytes.HasPrefix(line, []byte("panic:")) || bytes.Contains(line, []byte("goroutine 1 [")) || bytes.Contains(line, []byte("panicked")) {
			lines = append(lines, strings.TrimSpace(string(line)))
		}
	}
	return lines, int64(len(text))
}

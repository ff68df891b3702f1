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
	// Upstream is how the operator's user reaches the API server.
	Upstream  *rest.Config
	Namespace string
	// Dir is for the kubeconfig and the operator's log.
	Dir string
}

// Sandbox is one operator and its proxy. Only one goroutine may call its methods, except Kill and Restart.
type Sandbox struct {
	options Options
	Proxy   *proxy.Proxy

	mu      sync.Mutex
	process *operator.Process // nil: it does not run
	flags   []string
	// unexpected are the ends of processes that the sandbox did not cause.
	unexpected []string
}

// Open starts the proxy; the operator is started by Serve.
func Open(o Options) (*Sandbox, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a sandbox: %w", err)
	}
	p, err := proxy.Start(o.Upstream)
	if err != nil {
		return nil, fmt.Errorf("start the proxy of %s: %w", o.Namespace, err)
	}
	s := &Sandbox{options: o, Proxy: p}
	if err := p.WriteKubeconfig(s.kubeconfig()); err != nil {
		return nil, errors.Join(fmt.Errorf("write the kubeconfig of %s: %w", o.Namespace, err), p.Close())
	}
	return s, nil
}

func (s *Sandbox) kubeconfig() string { return filepath.Join(s.options.Dir, "kubeconfig") }

// Log returns the operator's log file: the output of all its processes, one after another.
func (s *Sandbox) Log() string { return filepath.Join(s.options.Dir, "operator.log") }

// Serve makes sure that an operator runs with these flags. One that runs with others is killed.
func (s *Sandbox) Serve(flags []string) error {
	s.mu.Lock()
	isSame := slices.Equal(flags, s.flags)
	s.mu.Unlock()
	if isSame && s.IsAlive() {
		return nil
	}
	s.Kill()
	return s.Start(flags)
}

// Start starts an operator; none may be running.
func (s *Sandbox) Start(flags []string) (err error) {
	s.Proxy.Resume()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flags = flags
	s.process, err = operator.Start(operator.Options{Command: s.options.Operator, Kubeconfig: s.kubeconfig(), Namespace: s.options.Namespace, Flags: flags, Log: s.Log()})
	return err
}

// Kill ends the operator as a power failure would: nothing that it sends from now on reaches the API server. A fault's callback
// may call it, and it may be called when nothing runs.
func (s *Sandbox) Kill() {
	s.Proxy.Silence()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	if err := s.process.Kill(); err != nil {
		s.unexpected = append(s.unexpected, err.Error())
	}
	s.process = nil
}

// Restart kills the operator and starts it again with the same flags.
func (s *Sandbox) Restart() error {
	s.mu.Lock()
	flags := s.flags
	s.mu.Unlock()
	s.Kill()
	return s.Start(flags)
}

// IsAlive reports whether the operator runs.
func (s *Sandbox) IsAlive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && s.process.Alive()
}

// Unexpected returns, and forgets, the ends of processes that the sandbox did not cause.
func (s *Sandbox) Unexpected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.unexpected
	s.unexpected = nil
	if s.process != nil && !s.process.Alive() {
		found = append(found, "the operator has ended by itself")
	}
	return found
}

// Memory returns the memory of the process in bytes, and its open files; zeros if they cannot be read (not Linux, not running).
func (s *Sandbox) Memory() (resident int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0, 0
	}
	footprint, _ := s.process.Footprint() // zeros, as is said above
	return footprint.Resident, footprint.Files
}

// Close stops the operator as Kubernetes does, and the proxy.
func (s *Sandbox) Close(ctx context.Context) error {
	s.mu.Lock()
	process := s.process
	s.process = nil
	s.mu.Unlock()
	var err error
	if process != nil {
		err = process.Stop(ctx)
	}
	return errors.Join(err, s.Proxy.Close())
}

// Trouble returns the lines of the operator's log, from an offset, that report a panic or a data race, and the new offset.
func (s *Sandbox) Trouble(from int64) (lines []string, to int64) {
	text, err := os.ReadFile(s.Log())
	if err != nil || int64(len(text)) < from {
		return nil, from
	}
	return operator.Trouble(string(text[from:])), int64(len(text))
}

package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Spec says what a child runs.
type Spec struct {
	Name    string   // how it is called in messages
	Program string   // the executable
	Args    []string // without the program
	Env     []string // in addition to this process's environment
	Log     string   // the file that takes its output
}

// Child is a running child process.
type Child struct {
	spec     Spec
	command  *exec.Cmd
	lifeline io.Closer
	done     chan struct{}
	exit     error // valid once done is closed
}

// Start starts a child. The caller must Stop it, even if it has ended.
func Start(spec Spec) (*Child, error) {
	// A part that is started again goes on in its log.
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	// The child has its own copy of the descriptor; ours is only needed until then.
	defer log.Close()

	command := exec.Command(spec.Program, spec.Args...)
	command.Env = append(append(os.Environ(), spec.Env...), lifelineVariable+"=stdin")
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes()
	command.ExtraFiles = inherited()
	lifeline, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the lifeline of %s: %w", spec.Name, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	c := &Child{spec: spec, command: command, lifeline: lifeline, done: make(chan struct{})}
	go c.wait()
	return c, nil
}

func (c *Child) wait() {
	c.exit = c.command.Wait()
	close(c.done)
}

// Name is the child's name.
func (c *Child) Name() string { return c.spec.Name }

// PID is the child's process id.
func (c *Child) PID() int { return c.command.Process.Pid }

// Log is the file that takes the child's output.
func (c *Child) Log() string { return c.spec.Log }

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Failure describes why the child ended; it is nil while the child runs.
func (c *Child) Failure() *Failure {
	select {
	case <-c.done:
	default:
		return nil
	}
	status := "exit status 0"
	if c.exit != nil {
		status = c.exit.Error()
	}
	return &Failure{Name: c.spec.Name, Status: status, Log: c.spec.Log, Tail: Tail(c.spec.Log, tailLines)}
}

// terminate asks the child to end.
func (c *Child) terminate() error {
	err := c.command.Process.Signal(syscall.SIGTERM)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ask %s to end: %w", c.spec.Name, err)
	}
	return nil
}

// Kill ends the child at once and waits until it is gone.
func (c *Child) Kill() error {
	err := c.command.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", c.spec.Name, err)
	}
	<-c.done
	return nil
}

// Stop ends the children: it asks all of them, gives them the grace time
// together, and kills those that still run. When it returns none is left.
func Stop(grace time.Duration, children ...*Child) error {
	var failures []error
	for _, c := range children {
		if c.terminate() != nil {
			// Not every platform can ask; the kill below is what counts.
			continue
		}
	}
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	for _, c := range children {
		select {
		case <-c.done:
			continue
		case <-timeout.C:
			timeout.Reset(0) // the others have had their time too
		}
		if err := c.Kill(); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options of a process.
type Options struct {
	// Command line. These placeholders in its words are replaced:
	//
	//	{kubeconfig}  Kubeconfig
	//	{namespace}   Namespace
	//	{metrics}     a loopback address that is reserved for its metrics
	//	{probes}      another one, for its probes
	//	{flags}       Flags, each a word
	Command []string
	// Kubeconfig is the operator's kubeconfig. KUBECONFIG is set to it, too.
	Kubeconfig string
	// Namespace that is served; "" for all.
	Namespace string
	Flags     []string
	// Log is the file to which all output of the process is appended.
	Log string
}

// Process is a running operator, or one that has run. Its methods may be called concurrently.
type Process struct {
	cmd             *exec.Cmd
	metrics, probes string // addresses, or "" if the command line does not have them
	log             string
	from            int64 // where its part of the log begins
	ended           chan struct{}
	exit            error // valid once ended is closed

	mu    sync.Mutex
	asked bool // to end
}

// Start starts an operator.
func Start(o Options) (*Process, error) {
	p := &Process{log: o.Log, ended: make(chan struct{})}
	words, err := p.words(o)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the operator's log: %w", err)
	}
	defer log.Close() // the process has a descriptor of its own
	if p.from, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("find the end of the operator's log: %w", err)
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+o.Kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	dieWithUs(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// words returns the command line, without placeholders.
func (p *Process) words(o Options) (words []string, err error) {
	if len(o.Command) == 0 {
		return nil, errors.New("no command line for the operator")
	}
	for placeholder, address := range map[string]*string{"{metrics}": &p.metrics, "{probes}": &p.probes} {
		if strings.Contains(strings.Join(o.Command, "\n"), placeholder) {
			if *address, err = Address(); err != nil {
				return nil, err
			}
		}
	}
	replace := strings.NewReplacer("{kubeconfig}", o.Kubeconfig, "{namespace}", o.Namespace, "{metrics}", p.metrics, "{probes}", p.probes)
	for _, word := range o.Command {
		if word == "{flags}" {
			words = append(words, o.Flags...)
			continue
		}
		words = append(words, replace.Replace(word))
	}
	return words, nil
}

// ID returns the number of the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Exit returns nil as long as the process runs, and if it has ended with exit code 0.
func (p *Process) Exit() error {
	if p.Alive() {
		return nil
	}
	return p.exit
}

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Footprint returns what the process has used.
func (p *Process) Footprint() (Footprint, error) { return footprintOf(p.ID()) }

// ask records that the process must end. If it had ended before the first call, it ended by itself: that is an error, once.
func (p *Process) ask() (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.asked = !p.asked, true
	if first && !p.Alive() {
		return false, fmt.Errorf("the operator had ended by itself: %v\n%s", p.exit, p.Tail())
	}
	return first, nil
}

// Kill ends the operator as a power failure would, and returns when it has ended. It is an error if it had ended by itself.
func (p *Process) Kill() error {
	_, err := p.ask()
	_ = p.cmd.Process.Kill() // fails only if the process no longer exists
	<-p.ended
	return err
}

// stopLimit is how long Kubernetes gives a process to end.
const stopLimit = 30 * time.Second

// Stop ends the operator as Kubernetes does. It is an error if the operator had ended by itself, was too slow, ended with another
// exit code than 0 (an *exec.ExitError), or if its log reports a panic or a data race. If it was ended before, Stop does nothing.
func (p *Process) Stop(ctx context.Context) error {
	first, err := p.ask()
	if !first {
		return err
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // as in Kill
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	select {
	case <-p.ended:
		if p.exit != nil {
			err = fmt.Errorf("the operator was told to stop and ended with %w\n%s", p.exit, p.Tail())
		}
	case <-ctx.Done():
		_ = p.Kill() // it has not ended by itself
		err = fmt.Errorf("the operator did not stop within %s when it was told to\n%s", stopLimit, p.Tail())
	}
	if lines := Trouble(p.Text()); len(lines) > 0 {
		err = errors.Join(err, fmt.Errorf("the operator's log says: %s", strings.Join(lines, "\n")))
	}
	return err
}

// Text returns the log, as far as this process has written it.
func (p *Process) Text() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[min(p.from, int64(len(text))):])
}

// Tail returns the end of Text, for messages.
func (p *Process) Tail() string {
	lines := strings.Split(strings.TrimSpace(p.Text()), "\n")
	return strings.Join(lines[max(len(lines)-25, 0):], "\n")
}

// Trouble returns the lines of a log that report a panic or a data race.
func Trouble(text string) (lines []string) {
	return regexp.MustCompile(`.*(DATA RACE|panic|goroutine 1 \[).*`).FindAllString(text, -1)
}

package ground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"stoic/test/bench/measure"
)

// Process is a running operator.
type Process struct {
	cmd             *exec.Cmd
	metrics, probes string // addresses, or "" if its command line does not take them
	ended           chan struct{}
	err             error // of the end; read after ended is closed
}

// Launch starts an operator. In the words of its command line are replaced:
//
//	{kubeconfig}  the file that leads to the API server; KUBECONFIG is set to it, too
//	{namespace}   nothing: it serves all namespaces
//	{metrics}     a free loopback address, for its metrics
//	{probes}      another one
func (g *Ground) Launch(words []string, log io.Writer) (*Process, error) {
	kubeconfig := g.cluster.UserKubeconfig("operator")
	p := &Process{ended: make(chan struct{})}
	text := strings.Join(words, "\n")
	for placeholder, address := range map[string]*string{"{metrics}": &p.metrics, "{probes}": &p.probes} {
		if strings.Contains(text, placeholder) {
			var err error
			if *address, err = freeAddress(); err != nil {
				return nil, err
			}
		}
	}
	replace := strings.NewReplacer("{kubeconfig}", kubeconfig, "{namespace}", "", "{metrics}", p.metrics, "{probes}", p.probes)
	args := make([]string, len(words))
	for i, word := range words {
		args[i] = replace.Replace(word)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	dieWithUs(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// freeAddress finds a loopback port that nobody listens on. It is below those that systems give out by themselves, of which
// one would often be given to somebody else before the operator has it.
func freeAddress() (string, error) {
	const lowest, count, attempts = 20000, 12000, 50
	var last error
	for range attempts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(count)))
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			return l.Addr().String(), nil
		}
		last = err
	}
	return "", fmt.Errorf("find a free port: %w", last)
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Footprint of the process.
func (p *Process) Footprint() (measure.Footprint, error) {
	return measure.FootprintOf(p.cmd.Process.Pid)
}

// Ready says whether the operator says so itself; known is false if it cannot be asked.
func (p *Process) Ready(ctx context.Context) (ready, known bool) {
	if p.probes == "" {
		return false, false
	}
	_, code := get(ctx, "http://"+p.probes+"/readyz")
	return code == http.StatusOK, true
}

// Metrics is what the operator tells of itself, or nothing.
func (p *Process) Metrics(ctx context.Context) string {
	if p.metrics == "" {
		return ""
	}
	text, code := get(ctx, "http://"+p.metrics+"/metrics")
	if code != http.StatusOK {
		return ""
	}
	return text
}

func get(ctx context.Context, url string) (text string, code int) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0 // it does not listen yet
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0
	}
	return string(body), response.StatusCode
}

// Stop ends the operator as Kubernetes does.
func (p *Process) Stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the operator had ended by itself: %v", p.err)
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only of a process that is gone
	timeout := time.NewTimer(35 * time.Second)
	defer timeout.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timeout.C:
		p.Kill()
		return errors.New("the operator did not stop when it was told to")
	}
}

// Kill ends the operator as a power cut would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // as above
	<-p.ended
}

package upheaval

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopLimit is how long Kubernetes gives a process to end.
const stopLimit = 30 * time.Second

// process is one running operator.
type process struct {
	command         *exec.Cmd
	metrics, probes string
	log             string
	ended           chan struct{}
	exit            error // valid once ended is closed
}

// start runs the operator for all namespaces and waits until it is ready.
func (g *ground) start(ctx context.Context, flags ...string) error {
	p := &process{ended: make(chan struct{})}
	for _, address := range []*string{&p.metrics, &p.probes} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		*address = listener.Addr().String()
		if err := listener.Close(); err != nil {
			return fmt.Errorf("give back a port: %w", err)
		}
	}
	log, err := os.CreateTemp(g.cluster.Logs(), "operator-*.log")
	if err != nil {
		return fmt.Errorf("make the operator's log: %w", err)
	}
	defer log.Close() // the process has a descriptor of its own
	p.log = log.Name()
	p.command = exec.Command(g.Operator, append([]string{"controller", "--kubeconfig", g.cluster.UserKubeconfig(user),
		"--metrics-bind-address", p.metrics, "--health-probe-bind-address", p.probes}, flags...)...)
	p.command.Stdout, p.command.Stderr = log, log
	dieWithUs(p.command)
	return g.launch(ctx, p)
}

func (g *ground) launch(ctx context.Context, p *process) error {
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	go func() { p.exit = p.command.Wait(); close(p.ended) }()
	g.process = p
	_, err := g.await(ctx, time.Minute, "the operator to be ready", func(ctx context.Context) (bool, string) {
		code, err := p.probe(ctx)
		return code == http.StatusOK, fmt.Sprint(code, err)
	})
	return err
}

// probe asks whether it is ready.
func (p *process) probe(ctx context.Context) (int, error) {
	response, err := ask(ctx, "http://"+p.probes+"/readyz")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

func ask(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", url, err)
	}
	return http.DefaultClient.Do(request)
}

// alive is an error if the operator has ended by itself.
func (g *ground) alive() error {
	if g.process == nil {
		return nil
	}
	select {
	case <-g.process.ended:
		return fmt.Errorf("the operator has ended by itself: %v%s", g.process.exit, g.lastWords())
	default:
		return nil
	}
}

// stop ends the operator as Kubernetes does, and checks how it went.
func (g *ground) stop() error {
	p := g.process
	if p == nil {
		return nil
	}
	failure := g.alive()
	g.process = nil
	if failure != nil {
		return failure
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("tell the operator to stop: %w", err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		killed := p.command.Process.Kill()
		<-p.ended
		return errors.Join(fmt.Errorf("the operator did not stop within %s", stopLimit), killed)
	}
	if p.exit != nil {
		return fmt.Errorf("the operator was told to stop and ended with %w:\n%s", p.exit, strings.Join(last(25, p.lines()), "\n"))
	}
	return p.orderly()
}

// orderly is an error if the log tells of a defect.
func (p *process) orderly() error {
	for _, line := range p.lines() {
		if strings.Contains(line, "DATA RACE") || strings.Contains(line, "panic") {
			return fmt.Errorf("the operator's log says: %s", line)
		}
	}
	return nil
}

func last(n int, lines []string) []string { return lines[max(len(lines)-n, 0):] }

// lines of the log so far.
func (p *process) lines() []string {
	text, err := os.ReadFile(filepath.Clean(p.log))
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// sample adds up the operator's samples whose name and labels hold all the given parts.
func (g *ground) sample(ctx context.Context, parts ...string) (sum float64, err error) {
	response, err := ask(ctx, "http://"+g.process.metrics+"/metrics")
	if err != nil {
		return 0, fmt.Errorf("scrape the operator: %w", err)
	}
	defer response.Body.Close()
	found := false
	lines := bufio.NewScanner(response.Body)
next:
	for lines.Scan() {
		line := lines.Text()
		for _, part := range parts {
			if strings.HasPrefix(line, "#") || !strings.Contains(line, part) {
				continue next
			}
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read the sample %q: %w", line, err)
		}
		sum, found = sum+value, true
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read the operator's samples: %w", err)
	}
	if !found {
		return 0, fmt.Errorf("the operator has no sample with %q", parts)
	}
	return sum, nil
}

package integration

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one running operator.
type process struct {
	cmd             *exec.Cmd
	metrics, probes string
	log             string
	ended           chan error
	over            bool
}

// operator starts the operator for one namespace, or for all if ns is empty, and waits until it is ready. When the
// test ends it is stopped as Kubernetes stops it, and must end with exit code 0 and without a panic or a race.
func (r *rig) operator(t *testing.T, ns string, more ...string) *process {
	t.Helper()
	p := &process{metrics: freeAddress(t), probes: freeAddress(t), ended: make(chan error, 1)}
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	p.log = log.Name()
	args := append([]string{"controller", "--kubeconfig", r.cluster.UserKubeconfig("operator"), "--namespace", ns,
		"--metrics-bind-address", p.metrics, "--health-probe-bind-address", p.probes}, more...)
	p.cmd = exec.Command(cmp.Or(r.binary, stoic), args...)
	p.cmd.Stderr = log
	dieWithUs(p.cmd)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the operator: %v", err)
	}
	go func() { p.ended <- p.cmd.Wait(); log.Close() }()
	t.Cleanup(func() { p.stop(t) })
	await(t, "the operator to be ready", func() (bool, string) {
		select {
		case err := <-p.ended:
			p.over = true
			t.Fatalf("the operator ended: %v\n%s", err, p.tail())
		default:
		}
		return get("http://"+p.probes+"/readyz") == http.StatusOK, "not ready"
	})
	return p
}

// freeAddress finds a loopback port that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(url string) int {
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// kill ends the operator as a power cut would.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill the operator: %v", err)
	}
	<-p.ended
	p.over = true
}

// stop ends the operator as Kubernetes does and checks how it went.
func (p *process) stop(t *testing.T) {
	if p.over {
		return
	}
	p.over = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("tell the operator to stop: %v", err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("the operator was told to stop and ended with %v\n%s", err, p.tail())
		}
	case <-time.After(30 * time.Second):
		t.Errorf("the operator did not stop within 30 s\n%s", p.tail())
		_ = p.cmd.Process.Kill() // the test has failed already
		<-p.ended
	}
	for line := range strings.Lines(p.read()) {
		if strings.Contains(line, "DATA RACE") || strings.Contains(line, "panic") {
			t.Errorf("the operator's log says: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("the operator's log ends:\n%s", p.tail())
	}
}

func (p *process) read() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *process) tail() string {
	all := strings.Split(strings.TrimSpace(p.read()), "\n")
	return strings.Join(all[max(len(all)-25, 0):], "\n")
}

// metric reads the sum of the samples whose name and labels contain all the given parts.
func (p *process) metric(t *testing.T, parts ...string) (sum float64, found bool) {
	t.Helper()
	response, err := http.Get("http://" + p.metrics + "/metrics")
	if err != nil {
		t.Fatalf("scrape the operator: %v", err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
next:
	for lines.Scan() {
		line := lines.Text()
		for _, part := range parts {
			if strings.HasPrefix(line, "#") || !strings.Contains(line, part) {
				continue next
			}
		}
		var value float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		sum, found = sum+value, true
	}
	return sum, found
}

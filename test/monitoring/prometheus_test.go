package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stoic/test/operator"
)

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// program returns a program of Debian's package prometheus.
func program(t *testing.T, name string) string {
	t.Helper()
	file, err := exec.LookPath(name)
	if folder := os.Getenv("PROMETHEUS"); folder != "" {
		file, err = exec.LookPath(filepath.Join(folder, name))
	}
	if err != nil {
		t.Fatalf("%v: it is in Debian's package prometheus. Install it, or unpack it without starting its service and name the folder:\n"+
			"  apt-get download prometheus && dpkg -x prometheus_*.deb /tmp/prometheus && make monitoring PROMETHEUS=/tmp/prometheus/usr/bin", err)
	}
	return file
}

// startPrometheus scrapes the processes of an operator, and itself: a program with the same go_* and process_* metrics.
func startPrometheus(t *testing.T, rules string, targets ...string) *prometheus {
	t.Helper()
	file := program(t, "prometheus")
	address, err := operator.Address()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := fmt.Sprintf(`global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [%q]
scrape_configs:
  - job_name: training-operator
    static_configs: [{targets: ["%s"], labels: {namespace: kubeflow}}]
  - job_name: prometheus
    static_configs: [{targets: [%q], labels: {namespace: monitoring}}]
`, rules, strings.Join(targets, `", "`), address)
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	process, err := operator.Start(operator.Options{Log: filepath.Join(folder, "log"), Command: []string{file, "--config.file=" + filepath.Join(folder, "prometheus.yml"),
		"--storage.tsdb.path=" + filepath.Join(folder, "data"), "--web.listen-address=" + address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Kill(); err != nil {
			t.Errorf("Prometheus: %v", err)
		} else if t.Failed() {
			t.Logf("Prometheus' log ends:\n%s", process.Tail())
		}
	})
	p := &prometheus{address}
	await(t, "Prometheus to be ready", time.Minute, func() error {
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	return p
}

// await waits for a condition, polling every half second.
func await(t *testing.T, what string, limit time.Duration, condition func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("wait for %s: %v", what, err)
		}
	}
}

// get reads an answer of the API.
func (p *prometheus) get(path string, query url.Values, answer any) error {
	response, err := http.Get("http://" + p.address + path + "?" + query.Encode())
	if err != nil {
		return fmt.Errorf("ask Prometheus: %w", err)
	}
	defer response.Body.Close()
	var all struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	if all.Status != "success" {
		return fmt.Errorf("%s %v: %s", path, query, all.Error)
	}
	if err := json.Unmarshal(all.Data, answer); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

// result is a series of an answer.
type result struct {
	Metric map[string]string
	Value  sample
	Values []sample
}

// sample is a time in seconds and a number.
type sample struct{ at, value float64 }

// UnmarshalJSON reads [1700000000.123, "4.5"].
func (s *sample) UnmarshalJSON(text []byte) (err error) {
	var number string
	if err := json.Unmarshal(text, &[]any{&s.at, &number}); err != nil {
		return err
	}
	s.value, err = strconv.ParseFloat(number, 64)
	return err
}

// now returns the result of an expression.
func (p *prometheus) now(expression string) ([]result, error) {
	var answer struct{ Result []result }
	err := p.get("/api/v1/query", url.Values{"query": {expression}}, &answer)
	return answer.Result, err
}

// over returns the result of an expression over time.
func (p *prometheus) over(expression string, from, to time.Time, step time.Duration) ([]result, error) {
	unix := func(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }
	var answer struct{ Result []result }
	err := p.get("/api/v1/query_range", url.Values{"query": {expression}, "start": {unix(from)}, "end": {unix(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', 3, 64)}}, &answer)
	return answer.Result, err
}

// number returns the result of an expression with a single result, without labels.
func (p *prometheus) number(expression string) (float64, error) {
	found, err := p.now(expression)
	if err != nil || len(found) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d results of %s", len(found), expression))
	}
	return found[0].Value.value, nil
}

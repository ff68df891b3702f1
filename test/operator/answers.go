package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Probe returns the code with which the operator answers a request for a path such as /healthz; 0 if it does not answer.
func (p *Process) Probe(ctx context.Context, path string) int {
	code, _ := p.Answer(ctx, path)
	return code
}

// Answer returns the operator's answer to a request for a path such as /readyz; code 0 and the error's text if it does not answer.
func (p *Process) Answer(ctx context.Context, path string) (code int, text string) {
	code, text, err := get(ctx, 30*time.Second, p.probes, path)
	if err != nil {
		return 0, err.Error()
	}
	return code, strings.TrimSpace(text)
}

// Ready reports whether the operator is ready.
func (p *Process) Ready(ctx context.Context) bool { return p.Probe(ctx, "/readyz") == http.StatusOK }

// AwaitReady waits until the operator is ready. It fails if the operator ends.
func (p *Process) AwaitReady(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !p.Ready(ctx) {
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("the operator has ended by itself: %v\n%s", p.exit, p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for the operator to be ready: %w\n%s", context.Cause(ctx), p.Tail())
		}
	}
	return nil
}

// Metrics returns what the operator serves for Prometheus.
func (p *Process) Metrics(ctx context.Context) (string, error) {
	code, text, err := get(ctx, 30*time.Second, p.metrics, "/metrics")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("code %d", code)
	}
	if err != nil {
		return "", fmt.Errorf("scrape the operator: %w", err)
	}
	return text, nil
}

// Sample returns the sum of the samples whose name and labels contain all the given parts.
func (p *Process) Sample(ctx context.Context, parts ...string) (sum float64, found bool, err error) {
	text, err := p.Metrics(ctx)
	if err != nil {
		return 0, false, err
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			return 0, false, fmt.Errorf("read the sample %q: %w", line, err)
		}
		sum, found = sum+value, true
	}
	return sum, found, nil
}

func get(ctx context.Context, limit time.Duration, address, path string) (code int, text string, err error) {
	if address == "" {
		return 0, "", errors.New("the command line of the operator takes no address for it")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// MetricsAddress returns where it serves metrics, for tests that do not use Metrics.
func (p *Process) MetricsAddress() string { return p.metrics }

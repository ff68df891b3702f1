package apimodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

var (
	seedFlag      = flag.Uint64("seed", 1, "draws the sequences")
	sequencesFlag = flag.Int("sequences", 150, "how many sequences of requests are compared")
)

const (
	stepsEach    = 20
	atOnce       = 6
	mostReported = 3 // divergences
)

// real is a kube-apiserver.
type real struct {
	*cluster.Cluster
	client *http.Client
	url    string
}

// startReal starts a control plane without nodes, so that no kubelet writes to pods.
func startReal(t *testing.T) *real {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	c, err := cluster.Start(context.Background(), cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: -1, Store: operator.Store(),
		CRDs: []string{filepath.Join(root, "test", "fixtures", "tfjobs-open.yaml"), filepath.Join(root, "deploy", "crd", "pytorchjobs.yaml")}})
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop the control plane: %v", err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &real{c, client, config.Host}
	for _, resource := range modelled() { // watches can start as early as the server's watch cache began
		path := strings.Replace(base(resource.Plural, ""), "/namespaces/", "", 1) + "?resourceVersion=0"
		await(t, "the server to cache "+resource.Plural, func() (bool, string) {
			code, text, err := r.send("GET", path, "", "application/json", nil)
			return err == nil && code == 200, fmt.Sprintf("%d %s %v", code, text, err)
		})
	}
	return r
}

// await polls until the condition holds. When it gives up, it reports what it saw.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	operator.Await(t, 2*time.Minute, what, holds)
}

func (r *real) send(method, path, contentType, accept string, body []byte) (int, []byte, error) {
	request, err := http.NewRequest(method, r.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", accept)
	response, err := r.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("send %s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return response.StatusCode, text, nil
}

// sending sends a request to a model.
func (w *Model) sending(method, path, contentType, accept string, body []byte) (int, []byte, error) {
	request, err := http.NewRequest(method, "http://model"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", accept)
	code, text := w.Do(request)
	return code, text, nil
}

// compare compares one sequence. The divergence is empty if there is none.
func compare(r *real, seed, number uint64) (divergence string, reported []string, err error) {
	p, err := newPair(r, fmt.Sprintf("s%d-%d", seed, number))
	if err != nil {
		return "", nil, err
	}
	a := newAuthor(seed, number)
	steps := a.sequence(stepsEach)
	for i, s := range steps {
		if diff, err := p.do(s); diff != "" || err != nil {
			return fmt.Sprintf("step %d, - model + real:\n%s", i, diff), p.reported, err
		}
	}
	selector := pick(a, "", "x=1")
	var seen []string
	for _, s := range steps {
		if slices.Contains(seen, s.resource) {
			continue
		}
		seen = append(seen, s.resource)
		if diff, err := p.atLast(s.resource, selector); diff != "" || err != nil {
			return diff, p.reported, err
		}
	}
	return "", p.reported, nil
}

// atLast compares what exists at the end, and what watchers received.
func (p *pair) atLast(resource, selector string) (string, error) {
	if diff, err := p.do(step{verb: list, resource: resource}); diff != "" || err != nil {
		return "at last, - model + real:\n" + diff, err
	}
	end := manifest(resource, "zz")
	metaOf(end)["labels"] = tree{"x": "1"}
	if diff, err := p.do(step{verb: "POST", resource: resource, name: "zz", body: end}); diff != "" || err != nil {
		return "the last object, - model + real:\n" + diff, err
	}
	left, err := p.modelEvents(resource, selector)
	if err != nil {
		return "", err
	}
	right, err := p.realEvents(resource, selector)
	if diff := cmp.Diff(left, right); diff != "" {
		return fmt.Sprintf("what watchers of %s with selector %q are told, - model + real:\n%s", resource, selector, diff), err
	}
	return "", err
}

func (p *pair) modelEvents(resource, selector string) (events []any, err error) {
	request, err := http.NewRequest("GET", "http://model"+p.left.watchPath(resource, fmt.Sprint(start), selector), nil)
	if err != nil {
		return nil, fmt.Errorf("make a watch: %w", err)
	}
	watch, code, text := p.model.Watching(request)
	if watch == nil {
		return nil, fmt.Errorf("the model refuses a watch: %d %s", code, text)
	}
	for _, c := range p.model.Seen(watch, watch.Since) {
		var object tree
		if err := json.Unmarshal(c.Object, &object); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		events = append(events, []any{c.Type, p.left.normal(resource, object, false)})
	}
	return events, nil
}

// realEvents returns the events until the last object is created.
func (p *pair) realEvents(resource, selector string) (events []any, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", p.real.url+p.right.watchPath(resource, p.since, selector), nil)
	if err != nil {
		return nil, fmt.Errorf("make a watch: %w", err)
	}
	response, err := p.real.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource, err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Type   string
			Object tree
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		events = append(events, []any{event.Type, p.right.normal(resource, event.Object, false)})
		if Get(event.Object, "metadata", "name") == "zz" {
			return events, nil
		}
	}
	return events, fmt.Errorf("the watch of %s ended before the last object: %w", resource, lines.Err())
}

// TestModelAndAPIServer sends random sequences of requests to the model and to a real API server. It compares all answers, all
// that is left, and all events of watches.
func TestModelAndAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a control plane")
	}
	r := startReal(t)
	compareCollections(t, r)
	for _, part := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := r.Kill(part); err != nil { // the garbage collector would change objects between two requests
			t.Fatal(err)
		}
	}
	var operations, divergences atomic.Int64
	sideBySide(*sequencesFlag, func(number int) {
		divergence, reported, err := compare(r, *seedFlag, uint64(number))
		operations.Add(int64(len(reported)))
		if err != nil {
			t.Errorf("sequence %d: %v", number, err)
		}
		if divergence != "" && divergences.Add(1) <= mostReported {
			t.Errorf("sequence %d of seed %d: %s\n%s", number, *seedFlag, divergence, strings.Join(reported, "\n"))
		}
	})
	t.Logf("%d sequences, %d operations, %d divergences", *sequencesFlag, operations.Load(), divergences.Load())
}

// sideBySide calls do for each number below n, some in parallel.
func sideBySide(n int, do func(number int)) {
	var running errgroup.Group
	running.SetLimit(atOnce)
	for i := range n {
		running.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = running.Wait() // no call returns an error
}

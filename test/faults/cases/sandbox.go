package cases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"

	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

// worker tries one case after another, each with an object of a new name, with one operator behind a proxy. The operator keeps running
// between cases, as operators do, unless it was killed.
type worker struct {
	scenario.Places
	command []string // of the operator
	dir     string   // for the kubeconfig and the operator's log
	proxy   *proxy.Proxy
	logged  int // the offset up to which the operator's log was read

	mu      sync.Mutex
	process *operator.Process // nil: it does not run
}

// openWorker starts the proxy. The operator's user reaches the API server by upstream.
func openWorker(p scenario.Places, command []string, upstream *rest.Config, dir string) (*worker, error) {
	w := &worker{Places: p, command: command, dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a sandbox: %w", err)
	}
	var err error
	if w.proxy, err = proxy.Start(upstream); err != nil {
		return nil, fmt.Errorf("start the proxy of %s: %w", p.Namespace, err)
	}
	if err := w.proxy.WriteKubeconfig(w.kubeconfig()); err != nil {
		w.proxy.Close()
		return nil, err
	}
	return w, nil
}

func (w *worker) kubeconfig() string { return filepath.Join(w.dir, "kubeconfig") }

// log returns the operator's log file: the output of all its processes, one after another.
func (w *worker) log() string { return filepath.Join(w.dir, "operator.log") }

// serve makes sure that an operator runs.
func (w *worker) serve() error {
	w.mu.Lock()
	isServing := w.process != nil && w.process.Alive()
	w.mu.Unlock()
	if isServing {
		return nil
	}
	_ = w.kill() // one that has ended by itself concerns the case before
	return w.start()
}

// restart kills the operator and starts it again.
func (w *worker) restart() error {
	if err := w.kill(); err != nil {
		return err
	}
	return w.start()
}

// start starts an operator; none may be running.
func (w *worker) start() (err error) {
	w.proxy.Resume()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process, err = operator.Start(operator.Options{Command: w.command, Kubeconfig: w.kubeconfig(), Namespace: w.Namespace, Log: w.log()})
	return err
}

// kill ends the operator as a power failure would: nothing that it sends from now on reaches the API server. It fails if the operator
// has ended by itself before.
func (w *worker) kill() error {
	w.proxy.Silence()
	w.mu.Lock()
	defer w.mu.Unlock()
	process := w.process
	w.process = nil
	if process == nil {
		return nil
	}
	return process.Kill()
}

// trouble returns what the operator's log reports, since it was last asked, of panics and data races, and whether the operator has
// ended by itself or holds too much.
func (w *worker) trouble() (found []string) {
	text, err := os.ReadFile(w.log())
	if err == nil {
		found = operator.Trouble(string(text[min(w.logged, len(text)):]))
		w.logged = len(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == nil {
		return found
	}
	if !w.process.Alive() {
		return append(found, "the operator has ended by itself")
	}
	footprint, _ := w.process.Footprint() // zeros if it cannot be read
	if footprint.Resident > mostResident || footprint.Files > mostFiles {
		found = append(found, fmt.Sprintf("the operator holds %d MiB and %d open files, at most %d and %d", footprint.Resident>>20, footprint.Files, mostResident>>20, mostFiles))
	}
	return found
}

const (
	// mostResident and mostFiles bound what an operator of one namespace with a few jobs may hold, however many cases it has run
	// through.
	mostResident = 256 << 20
	mostFiles    = 256
)

// close stops the operator as Kubernetes does, and the proxy.
func (w *worker) close(ctx context.Context) (err error) {
	w.mu.Lock()
	process := w.process
	w.process = nil
	w.mu.Unlock()
	if process != nil && process.Alive() {
		err = process.Stop(ctx)
	}
	w.proxy.Close()
	return err
}

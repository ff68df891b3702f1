package malformed

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

// Program is an operator, its command line and its kubeconfig.
type Program struct {
	*scenario.Operator
	Command    []string
	Kubeconfig string
}

// program is a process that serves the kinds of one or several operators.
type program struct {
	name       string
	command    []string
	kubeconfig string
	log        string
	operators  []*scenario.Operator

	process *operator.Process
	// stop ends the polling of readiness.
	stop context.CancelFunc
	// unready counts the answers that it is not ready; firstUnready is the first of them.
	unready      atomic.Int64
	firstUnready atomic.Pointer[string]
}

// programsOf returns the processes of all operators: those with the same command line share one.
func programsOf(o Options) (all []*program, err error) {
	for _, p := range o.Programs {
		command := listening(p.Command)
		i := slices.IndexFunc(all, func(other *program) bool { return slices.Equal(other.command, command) })
		if i < 0 {
			i = len(all)
			all = append(all, &program{name: p.Name, command: command, kubeconfig: p.Kubeconfig, log: filepath.Join(o.Dir, "malformed-"+p.Name+".log")})
		}
		all[i].operators = append(all[i].operators, p.Operator)
	}
	return all, nil
}

// listening returns a command line that serves metrics and probes, which the sandboxes of the rig do not need.
func listening(command []string) []string {
	words := slices.Clone(command)
	for i := range len(words) - 1 {
		placeholder, known := map[string]string{"--metrics-bind-address": "{metrics}", "--health-probe-bind-address": "{probes}"}[words[i]]
		if known && words[i+1] == "0" {
			words[i+1] = placeholder
		}
	}
	return words
}

// serve starts the process for a namespace, or for all, and waits until it is ready.
func (p *program) serve(ctx context.Context, namespace string) (err error) {
	p.process, err = operator.Start(operator.Options{Command: p.command, Kubeconfig: p.kubeconfig, Namespace: namespace, Log: p.log})
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	waiting, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if err := p.process.AwaitReady(waiting); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.unready.Store(0)
	p.firstUnready.Store(nil)
	asking, stop := context.WithCancel(ctx)
	p.stop = stop
	go p.ask(asking, p.process)
	return nil
}

// ask polls the readiness of the process until ctx ends. It tolerates up to three missing answers in a row.
func (p *program) ask(ctx context.Context, process *operator.Process) {
	silent, began := 0, time.Now()
	for ctx.Err() == nil {
		code, text := process.Answer(ctx, "/readyz")
		if code == 0 {
			silent++
		} else {
			silent = 0
		}
		if ctx.Err() == nil && code != 200 && (code != 0 || silent > 3) {
			first := fmt.Sprintf("code %d, %q, %v after it was ready", code, text, time.Since(began).Round(time.Millisecond))
			p.firstUnready.CompareAndSwap(nil, &first)
			p.unready.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * glance):
		}
	}
}

// end stops the process, and returns what was wrong with it.
func (p *program) end(ctx context.Context) error {
	if p.process == nil {
		return nil
	}
	p.stop()
	process := p.process
	p.process = nil
	if err := process.Stop(ctx); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// kill kills what is left.
func (p *program) kill() {
	if p.process != nil {
		p.stop()
		_ = p.process.Kill() // it is no longer needed
		p.process = nil
	}
}

// sum returns the sum of the samples of a metric, by the end of its name; -1 if the process does not have it.
func (p *program) sum(ctx context.Context, metric string) float64 {
	sum, found, err := p.process.Sample(ctx, metric)
	if err != nil || !found {
		return -1
	}
	return sum
}

// idle reports whether no key and no event waits.
func (p *program) idle(ctx context.Context) (bool, string) {
	depth, unfinished, backlog := p.sum(ctx, "workqueue_depth{"), p.sum(ctx, "workqueue_unfinished_work_seconds{"), p.sum(ctx, "_events_backlog ")
	return depth == 0 && unfinished == 0 && backlog == 0, fmt.Sprintf("of %s %v keys wait, some for %v s, and %v events", p.name, depth, unfinished, backlog)
}

// trouble returns the errors that the process has reported.
func (p *program) trouble(ctx context.Context, objects int) (found []string) {
	for _, metric := range []string{"_converter_panics_total{", "_panics_total "} {
		if n := p.sum(ctx, metric); n != 0 {
			found = append(found, fmt.Sprintf("%s: %s is %v", p.name, strings.TrimRight(metric, "{ "), n))
		}
	}
	if n := p.unready.Load(); n > 0 {
		found = append(found, fmt.Sprintf("%s was not ready %d times, first: %s", p.name, n, *p.firstUnready.Load()))
	}
	if n := p.sum(ctx, "workqueue_adds_total{"); n < 0 || int(n) > 40*objects+500 {
		found = append(found, fmt.Sprintf("%s: %v keys were queued for %d objects", p.name, n, objects))
	}
	if !p.process.Alive() {
		found = append(found, fmt.Sprintf("%s has ended by itself: %v", p.name, p.process.Exit()))
	}
	if lines := operator.Trouble(p.process.Text()); len(lines) > 0 {
		found = append(found, p.name+": "+strings.Join(lines[:min(len(lines), 3)], "\n"))
	}
	return found
}

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"stoic/cli/process"
)

const (
	// stopTimeout is a little more than the control plane needs to stop.
	stopTimeout = 8 * time.Second
	// tailLines is how many of the last progress lines an error repeats.
	tailLines = 20
)

// Cluster is a running control plane. Its methods may be called from any
// goroutine.
type Cluster struct {
	dir       string
	temporary bool
	command   *exec.Cmd
	lifeline  io.WriteCloser // the child's standard input
	replies   chan reply
	ended     chan struct{} // closed when no process of the cluster is left
	died      chan struct{} // closed if that happened by itself
	release   func() bool   // detaches the cluster from its context
	stop      func() error

	commanding sync.Mutex // held from a command to its reply

	mutex    sync.Mutex
	report   report
	stopping bool
	tail     []string // the last lines of the child's standard error
	failure  error
}

// report is the line with which the child says that it is ready.
type report struct {
	Kubeconfig  string            `json:"kubeconfig"`
	Definitions string            `json:"definitions"`
	Users       map[string]string `json:"users"`
	Server      string            `json:"server"`
	PIDs        map[string]int    `json:"pids"`
	AuditLog    string            `json:"auditLog"`
	Logs        string            `json:"logs"`
	Version     string            `json:"version"`
	Seconds     float64           `json:"seconds"`
}

// reply is the line with which the child answers a command.
type reply struct {
	Command string         `json:"command"`
	PIDs    map[string]int `json:"pids"` // of the parts that it started
	Error   string         `json:"error"`
}

// Start runs a cluster, after building its binary if need be, and returns when
// it is ready. It runs until Stop is called or the context ends.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withStart()
	program, kine, err := programs(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: o.Dir, temporary: o.Dir == "", replies: make(chan reply),
		ended: make(chan struct{}), died: make(chan struct{})}
	c.stop = sync.OnceValue(c.end)
	if c.temporary {
		if c.dir, err = os.MkdirTemp("", "stoic-cluster-"); err != nil {
			return nil, fmt.Errorf("make a directory for the cluster: %w", err)
		}
	} else if c.dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("find the directory of the cluster: %w", err)
	}
	ready, err := c.launch(program, kine, o)
	if err != nil {
		return nil, errors.Join(err, c.clean())
	}
	select {
	case c.report = <-ready:
	case <-c.ended:
		err = fmt.Errorf("start a cluster: %w", c.Err())
	case <-ctx.Done():
		err = fmt.Errorf("start a cluster: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	// Whoever calls Stop later gets the error, so nothing is lost here.
	c.release = context.AfterFunc(ctx, func() { _ = c.stop() })
	return c, nil
}

// launch starts the child. The channel delivers its report.
func (c *Cluster) launch(program, kine string, o Options) (<-chan report, error) {
	c.command = exec.Command(program, o.arguments(c.dir, kine)...)
	process.Separate(c.command)
	lifeline, err := c.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	output, err := c.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	messages, err := c.command.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a cluster: %w", err)
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	c.lifeline = lifeline
	ready := make(chan report, 1)
	go c.follow(output, messages, o.steps(), ready)
	return ready, nil
}

// follow reads the output of the child until no process of the cluster is left: the components of the control plane hold the
// standard error open as long as they run.
func (c *Cluster) follow(output, messages io.Reader, progress *steps, ready chan<- report) {
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(c.replies)
		answers := json.NewDecoder(output)
		var r report
		if answers.Decode(&r) != nil {
			return // the child has ended, and its messages say why
		}
		ready <- r
		for {
			var answer reply
			if answers.Decode(&answer) != nil {
				return
			}
			c.replies <- answer
		}
	})
	c.print(messages, progress)
	reading.Wait()
	err := c.command.Wait()

	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.stopping {
		status := "exit status 0"
		if err != nil {
			status = err.Error()
		}
		if logs := c.keptLogs(); logs != "" {
			status += "; its logs stay in " + logs
		}
		c.failure = fmt.Errorf("the control plane ended by itself (%s):\n%s", status, strings.Join(c.tail, "\n"))
		close(c.died)
	}
	close(c.ended)
}

// print prints messages and keeps the last lines. A line that does not fit into the buffer is printed as several, so that its writer
// is never blocked.
func (c *Cluster) print(messages io.Reader, progress *steps) {
	lines := bufio.NewReaderSize(messages, 64<<10)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := progress.retimed(string(line))
		fmt.Fprintf(progress.out, "%s\n", text)
		c.mutex.Lock()
		c.tail = append(c.tail, text)
		c.tail = c.tail[max(0, len(c.tail)-tailLines):]
		c.mutex.Unlock()
	}
}

// Stop ends the cluster and returns when none of its processes is left. It may be called more than once.
func (c *Cluster) Stop() error {
	if c.release != nil {
		c.release()
	}
	return c.stop()
}

func (c *Cluster) end() error {
	c.mutex.Lock()
	c.stopping = true
	c.mutex.Unlock()
	// The child stops when its input ends. The input of a child that has ended is closed already.
	_ = c.lifeline.Close()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	var err error
	select {
	case <-c.ended:
	case <-timeout.C:
		// The components notice that it is gone, and end too.
		if err = c.command.Process.Kill(); err != nil {
			err = fmt.Errorf("kill a cluster that does not stop: %w", err)
		} else {
			<-c.ended
		}
	}
	return errors.Join(err, c.clean())
}

// clean removes the directory if it is temporary. In an orderly end the child has already done so. The logs of a control plane that
// failed are kept, as its messages name them; certificates, keys and data are removed.
func (c *Cluster) clean() error {
	if !c.temporary {
		return nil
	}
	kept := ""
	if c.Err() != nil {
		kept = c.keptLogs()
	}
	if kept == "" {
		if err := os.RemoveAll(c.dir); err != nil {
			return fmt.Errorf("remove the directory of the cluster: %w", err)
		}
		return nil
	}
	entries, err := os.ReadDir(c.dir)
	for _, entry := range entries {
		if path := filepath.Join(c.dir, entry.Name()); path != kept {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return fmt.Errorf("remove the files of the cluster but for its logs: %w", err)
	}
	return nil
}

// keptLogs returns the folder of the logs, or empty if there are none. The child keeps it if a component failed.
func (c *Cluster) keptLogs() string {
	logs := filepath.Join(c.dir, "logs")
	if entries, err := os.ReadDir(logs); err != nil || len(entries) == 0 {
		return ""
	}
	return logs
}

// Kubeconfig returns the path of the kubeconfig of a client with all permissions.
func (c *Cluster) Kubeconfig() string { return c.report.Kubeconfig }

// DefinitionsKubeconfig returns the path of the kubeconfig of the same client for the server at which custom resources are defined;
// see Options.CRs.
func (c *Cluster) DefinitionsKubeconfig() string { return c.report.Definitions }

// UserKubeconfig returns the path of the kubeconfig of a user named in the options, or empty.
func (c *Cluster) UserKubeconfig(name string) string { return c.report.Users[name] }

// Server returns the address of the API server.
func (c *Cluster) Server() string { return c.report.Server }

// Version returns the version of Kubernetes.
func (c *Cluster) Version() string { return c.report.Version }

// AuditLog returns the path of the audit log, or empty without one.
func (c *Cluster) AuditLog() string { return c.report.AuditLog }

// Logs returns the folder with a log per component, such as kube-apiserver.log.
func (c *Cluster) Logs() string { return c.report.Logs }

// Dir returns the directory of the cluster's files.
func (c *Cluster) Dir() string { return c.dir }

// PID returns the process id of a component, such as kube-apiserver, or 0. A test can suspend the component with it. The cluster
// ends when a component ends, unless Kill ended it.
func (c *Cluster) PID(part string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.report.PIDs[part]
}

// Kill ends a component, such as kube-apiserver, as a crash would.
func (c *Cluster) Kill(part string) error {
	if err := c.order("kill " + part); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.report.PIDs, part)
	return nil
}

// Revive starts a killed component at its old port and returns when it is ready.
func (c *Cluster) Revive(part string) error { return c.order("start " + part) }

// Save copies the store as it is now, and replaces the earlier copy. The store is briefly unavailable.
func (c *Cluster) Save() error { return c.order("save") }

// Restore returns the store to the saved copy, as after a disaster: later writes are lost, and resource versions run backwards. It
// restarts all components at their old ports, and returns when they are ready.
func (c *Cluster) Restore() error { return c.order("restore") }

// order sends a command to the child and waits for its reply.
func (c *Cluster) order(command string) error {
	c.commanding.Lock()
	defer c.commanding.Unlock()
	if _, err := fmt.Fprintln(c.lifeline, command); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	answer, open := <-c.replies
	if !open {
		return fmt.Errorf("%s: the cluster has ended", command)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	maps.Copy(c.report.PIDs, answer.PIDs)
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", command, answer.Error)
	}
	return nil
}

// Done returns a channel that is closed when the control plane has ended by itself, not by Stop.
func (c *Cluster) Done() <-chan struct{} { return c.died }

// Err returns why the control plane ended by itself; it is nil unless Done is closed.
func (c *Cluster) Err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failure
}

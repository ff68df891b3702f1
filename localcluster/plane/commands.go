package plane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stoic/localcluster/supervise"
)

// Reply answers a command.
type Reply struct {
	Command string `json:"command"`
	PID     int    `json:"pid,omitempty"`   // of a part that was started
	Error   string `json:"error,omitempty"` // empty if the command was obeyed
}

// wait obeys commands until the context ends, or returns the failure of the
// first part that ends without a command.
func (p *plane) wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // releases those who follow the children
	ended := make(chan *supervise.Child)
	for _, child := range p.children {
		go follow(ctx, child, ended)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case child := <-ended:
			if slices.Contains(p.children, child) {
				return child.Failure()
			} // else it was killed by a command
		case command := <-p.options.Commands:
			reply := Reply{Command: command}
			child, err := p.obey(ctx, command)
			if err != nil {
				reply.Error = err.Error()
			}
			if child != nil {
				reply.PID = child.PID()
				go follow(ctx, child, ended)
			}
			if err := json.NewEncoder(p.options.Ready).Encode(reply); err != nil {
				return fmt.Errorf("answer the command %q: %w", command, err)
			}
		}
	}
}

// follow tells when a child has ended. Every child is stopped before Up returns,
// so none of these stays.
func follow(ctx context.Context, child *supervise.Child, ended chan<- *supervise.Child) {
	<-child.Done()
	select {
	case ended <- child:
	case <-ctx.Done():
	}
}

// obey runs one command:
//
//	kill PART    ends the part at once, as a crash would
//	start PART   starts a killed part and waits until it is ready
//
// It returns the child that it started, even one that does not become ready:
// its end must be noticed.
func (p *plane) obey(ctx context.Context, command string) (*supervise.Child, error) {
	verb, part, _ := strings.Cut(command, " ")
	if !slices.Contains([]string{store, apiserver, controllers, scheduler, kubelets}, part) {
		return nil, fmt.Errorf("there is no part %q", part)
	}
	index := slices.IndexFunc(p.children, func(c *supervise.Child) bool { return c.Name() == part })
	switch {
	case verb == "kill" && index >= 0:
		child := p.children[index]
		p.children = slices.Delete(p.children, index, index+1)
		p.say("%s is killed by command", part)
		return nil, child.Kill()
	case verb == "start" && index < 0:
		if err := p.launch(part); err != nil {
			return nil, err
		}
		child := p.children[len(p.children)-1]
		starting, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		return child, p.awaitReady(starting, part)
	case verb == "kill":
		return nil, fmt.Errorf("%s does not run", part)
	case verb == "start":
		return nil, fmt.Errorf("%s runs already", part)
	}
	return nil, fmt.Errorf("there is no command %q", verb)
}

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
	Command string         `json:"command"`
	PIDs    map[string]int `json:"pids,omitempty"`  // of the parts that were started
	Error   string         `json:"error,omitempty"` // empty if the command was obeyed
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
			reply := Reply{Command: command, PIDs: map[string]int{}}
			before := slices.Clone(p.children)
			if err := p.obey(ctx, command); err != nil {
				reply.Error = err.Error()
			}
			for _, child := range p.children {
				if !slices.Contains(before, child) { // also one that did not become ready: its end must be noticed
					reply.PIDs[child.Name()] = child.PID()
					go follow(ctx, child, ended)
				}
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
//	start PART   starts a killed part and waits until it is ready; after the store
//	             the simulated kubelets begin anew (see storeIsBack)
//	save         puts the store aside as it is now
//	restore      puts the saved store back, and starts every part anew
func (p *plane) obey(ctx context.Context, command string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	verb, part, _ := strings.Cut(command, " ")
	switch command {
	case "save":
		return p.save(ctx)
	case "restore":
		return p.restore(ctx)
	}
	if !slices.Contains(p.options.parts(), part) {
		return fmt.Errorf("there is no part %q", part)
	}
	switch runs := p.index(part) >= 0; {
	case verb == "kill" && runs:
		return p.kill(part)
	case verb == "start" && !runs:
		if err := p.begin(ctx, part); err != nil || part != store || p.index(apiserver) < 0 {
			return err
		}
		return p.storeIsBack(ctx)
	case verb == "kill":
		return fmt.Errorf("%s does not run", part)
	case verb == "start":
		return fmt.Errorf("%s runs already", part)
	}
	return fmt.Errorf("there is no command %q", verb)
}

// index of a part among those that run, or -1.
func (p *plane) index(part string) int {
	return slices.IndexFunc(p.children, func(c *supervise.Child) bool { return c.Name() == part })
}

// kill ends a part that runs.
func (p *plane) kill(part string) error {
	index := p.index(part)
	child := p.children[index]
	p.children = slices.Delete(p.children, index, index+1)
	p.say("%s is killed by command", part)
	return child.Kill()
}

// begin starts a part and waits until it is ready.
func (p *plane) begin(ctx context.Context, part string) error {
	if err := p.launch(part); err != nil {
		return err
	}
	if err := p.awaitReady(ctx, part); err != nil || part != definitionsServer {
		return err
	}
	return p.awaitDefinitions(ctx)
}

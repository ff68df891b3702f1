package disruption

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stoic/test/operator"
)

// start runs the operator for all namespaces and waits until it is ready.
func (g *environment) start(ctx context.Context, flags ...string) (err error) {
	g.process, err = operator.Start(operator.Options{Command: operator.Stoic(g.Operator), Kubeconfig: g.cluster.UserKubeconfig(user), Flags: flags,
		Log: filepath.Join(g.cluster.Logs(), "operator.log")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(time.Minute)*g.stretch))
	defer cancel()
	return g.process.AwaitReady(ctx)
}

// alive returns an error if the operator has ended by itself.
func (g *environment) alive() error {
	if g.process == nil || g.process.Alive() {
		return nil
	}
	return fmt.Errorf("the operator has ended by itself: %v%s", g.process.Exit(), g.lastWords())
}

// stop ends the operator as Kubernetes does, and checks how it ended.
func (g *environment) stop() error {
	p := g.process
	if p == nil {
		return nil
	}
	g.process = nil
	return p.Stop(context.Background())
}

// lastWords returns the last lines of the operator's log, for messages, without those about canaries.
func (g *environment) lastWords() string {
	if g.process == nil {
		return ""
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(g.process.Text()), "\n"), func(line string) bool { return strings.Contains(line, canaryNamespace+"/") })
	return "\nthe operator's last words:\n" + strings.Join(lines[max(len(lines)-15, 0):], "\n")
}

// sample returns the sum of the operator's samples whose name and labels contain all the given parts.
func (g *environment) sample(ctx context.Context, parts ...string) (float64, error) {
	sum, found, err := g.process.Sample(ctx, parts...)
	if err == nil && !found {
		err = fmt.Errorf("the operator has no sample with %q", parts)
	}
	return sum, err
}

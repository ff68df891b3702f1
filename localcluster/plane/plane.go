package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"stoic/localcluster/simulation"
	"stoic/localcluster/supervise"
)

const (
	// startTimeout is long because the machine may be busy; a part that fails is
	// noticed at once.
	startTimeout = 2 * time.Minute
	// partGrace and storeGrace together keep the end below five seconds.
	partGrace  = 2500 * time.Millisecond
	storeGrace = 1500 * time.Millisecond
	// startAttempts bounds how often a taken port makes us start again.
	startAttempts = 4
)

// Report is what the supervisor tells when the control plane is ready.
type Report struct {
	Kubeconfig string `json:"kubeconfig"`
	// Definitions is the kubeconfig with which definitions of custom resources are made.
	Definitions string            `json:"definitions"`
	Users       map[string]string `json:"users"` // kubeconfigs by name
	Server      string            `json:"server"`
	Ports       ports             `json:"ports"`
	PIDs        map[string]int    `json:"pids"` // by part
	AuditLog    string            `json:"auditLog,omitempty"`
	Logs        string            `json:"logs"`
	Version     string            `json:"version"`
	Seconds     float64           `json:"seconds"`
}

// plane is one attempt to run a control plane.
type plane struct {
	options   Options
	layout    layout
	ports     ports
	client    *client
	authority []byte // PEM
	// registered are the kinds of a server of their own.
	registered []registration
	children   []*supervise.Child
	began      time.Time
}

// Up runs a control plane until the context ends, which is no error, or until
// one of its parts ends, which is. Nothing runs any more when it returns.
func Up(ctx context.Context, o Options) error {
	documents, err := manifests(o.CRDs)
	if err != nil {
		return err
	}
	l := layout{dir: o.Dir}
	secrets, err := l.prepare()
	if err != nil {
		return err
	}
	if err := l.configurations(); err != nil {
		return err
	}
	began := time.Now()
	for attempt := 1; ; attempt++ {
		p := &plane{options: o, layout: l, began: began}
		err := errors.Join(p.run(ctx, secrets, documents), p.stop())
		var failure *supervise.Failure
		if attempt < startAttempts && errors.As(err, &failure) && failure.AddressInUse() {
			p.say("a port of %s was taken meanwhile; starting again with others", failure.Name)
			continue
		}
		if err == nil && o.Temporary {
			return l.remove()
		}
		return err
	}
}

func (p *plane) say(format string, values ...any) {
	fmt.Fprintf(p.options.Progress, "%6.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, values...))
}

// run starts everything, reports, and waits for the end.
func (p *plane) run(ctx context.Context, secrets *credentials, documents [][]byte) error {
	starting, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it took longer than %s", startTimeout))
	err := p.start(starting, secrets, documents)
	cancel()
	if ctx.Err() != nil {
		return nil // somebody ended us while we started
	}
	if err != nil {
		return err
	}
	if err := p.report(); err != nil {
		return err
	}
	return p.wait(ctx)
}

func (p *plane) start(ctx context.Context, secrets *credentials, documents [][]byte) (err error) {
	if p.ports, err = choosePorts(); err != nil {
		return err
	}
	if err := p.layout.prepareStore(p.options); err != nil {
		return err
	}
	if p.client, err = newClient(secrets, p.ports); err != nil {
		return err
	}
	p.authority = secrets.authority.Certificate()
	if err := p.layout.kubeconfigs(secrets, p.client.server, p.definitionsAddress(), p.options.Users); err != nil {
		return err
	}
	if err := p.startServer(ctx); err != nil {
		return err
	}
	if len(documents) > 0 {
		if err := p.define(ctx, documents); err != nil {
			return err
		}
		p.say("the kinds of %d manifests are served", len(documents))
	}
	return p.startRest(ctx)
}

// startServer brings up the API server with its store.
func (p *plane) startServer(ctx context.Context) error {
	for _, name := range []string{store, apiserver} {
		if err := p.launch(name); err != nil {
			return err
		}
		if err := p.awaitReady(ctx, name); err != nil {
			return err
		}
	}
	if err := p.awaitStore(ctx); err != nil || !p.options.isAggregated() {
		return err
	}
	return p.begin(ctx, definitionsServer)
}

// awaitStore waits until the API server answers from its store. It makes the
// namespace that is asked for only after it says that it is ready.
func (p *plane) awaitStore(ctx context.Context) error {
	return p.client.awaitOK(ctx, "the default namespace exists", p.client.server+"/api/v1/namespaces/default", "", p.children)
}

// startRest starts what needs the API server, all at once.
func (p *plane) startRest(ctx context.Context) error {
	rest := []string{controllers, scheduler, kubelets}
	for _, name := range rest {
		if err := p.launch(name); err != nil {
			return err
		}
	}
	for number := range p.options.Nodes {
		if err := p.client.create(ctx, "/api/v1/nodes", simulation.Node(number, p.options.Version)); err != nil {
			return err
		}
	}
	p.say("%d nodes are ready", p.options.Nodes)
	for _, name := range rest {
		if err := p.awaitReady(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *plane) launch(name string) error {
	spec := p.runs(name)
	spec.Name, spec.Log = name, p.layout.log(name)
	// kwok reads a settings file in the home directory if there is one.
	spec.Env = []string{"HOME=" + p.layout.dir}
	child, err := supervise.Start(spec)
	if err != nil {
		return err
	}
	p.children = append(p.children, child)
	return nil
}

// program is the executable that runs the parts. Whoever keeps it in a cache may
// have removed the file since we started; Linux still finds what we run.
func (p *plane) program() string {
	const running = "/proc/self/exe"
	if _, err := os.Stat(p.options.Program); err == nil {
		return p.options.Program
	}
	if _, err := os.Stat(running); err == nil {
		return running
	}
	return p.options.Program // whose absence the start will report
}

func (p *plane) awaitReady(ctx context.Context, name string) error {
	if name == store && p.options.isKine() {
		if err := p.awaitKine(ctx); err != nil {
			return err
		}
		p.say("%s is ready", kine)
		return nil
	}
	url, words := p.ports.health(name)
	if err := p.client.awaitOK(ctx, name+" is ready", url, words, p.children); err != nil {
		return err
	}
	p.say("%s is ready", name)
	return nil
}

func (p *plane) report() error {
	r := Report{
		Kubeconfig:  p.layout.kubeconfig(admin),
		Definitions: p.layout.kubeconfig(definitionsKubeconfig),
		Users:       map[string]string{},
		Server:      p.client.server,
		Ports:       p.ports,
		PIDs:        map[string]int{},
		Logs:        p.layout.path("logs"),
		Version:     p.options.Version,
		Seconds:     time.Since(p.began).Seconds(),
	}
	for name := range p.options.Users {
		r.Users[name] = p.layout.kubeconfig(name)
	}
	for _, child := range p.children {
		r.PIDs[child.Name()] = child.PID()
	}
	if p.options.Audit {
		r.AuditLog = p.layout.audit()
	}
	p.say("ready; kubeconfig: %s", r.Kubeconfig)
	if err := json.NewEncoder(p.options.Ready).Encode(r); err != nil {
		return fmt.Errorf("report that the control plane is ready: %w", err)
	}
	return nil
}

// stop ends the parts, the store last, because the others write until they end.
func (p *plane) stop() error {
	if p.client != nil {
		p.client.close()
	}
	if len(p.children) == 0 {
		return nil
	}
	var others, stores []*supervise.Child
	for _, child := range p.children {
		if child.Name() == store {
			stores = append(stores, child)
		} else {
			others = append(others, child)
		}
	}
	err := errors.Join(supervise.Stop(partGrace, others...), supervise.Stop(storeGrace, stores...))
	p.say("stopped")
	return err
}

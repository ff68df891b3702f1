package plans

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
	"stoic/test/served"
)

// bystander is the name of an object that is unrelated to any job.
const bystander = "bystander"

// nodes is the number of nodes of the control plane: each takes 1,000 pods, and the malformed objects of all kinds together have
// some thousands.
const nodes = 8

// Options say where plans are tried, and with which operators.
type Options struct {
	// Root is the checkout.
	Root string
	// Programs are the operators whose scenarios are tried.
	Programs []Program
	// Sandboxes is how many are used in parallel.
	Sandboxes int
	// Dir is the folder for logs and the evidence of failures.
	Dir string
	// Busy says that the machine may have other work: no plan fails because something took long.
	Busy bool
	// Say prints a line of progress.
	Say func(format string, values ...any)
}

// Program is an operator and its command line; see sandbox.Options.
type Program struct {
	*scenario.Operator
	Command []string
}

// Stage is one control plane on which plans are tried.
type Stage struct {
	options  Options
	cluster  *cluster.Cluster
	admin    dynamic.Interface
	typed    kubernetes.Interface
	webhooks []*operator.Process
	recorder *history.Recorder
	// stopRecording ends the recorder, after the last plan.
	stopRecording context.CancelFunc
	workers       []*worker
	jobs          atomic.Int64

	mu         sync.Mutex
	references map[string]reference
	files      int
}

// worker tries one plan after another, each in the sandbox of its operator.
type worker struct {
	places    scenario.Places
	sandboxes map[string]*sandbox.Sandbox // by the operator's name
	logs      map[*sandbox.Sandbox]int64  // the offset up to which the operator's log was read
	// bystander is an object that is unrelated to any job.
	bystander *corev1.ConfigMap
}

// use returns the sandbox of an operator. Processes in the worker's other sandboxes are killed: they would only use memory.
func (w *worker) use(o *scenario.Operator) *sandbox.Sandbox {
	for name, c := range w.sandboxes {
		if name != o.Name {
			c.Kill()
		}
	}
	return w.sandboxes[o.Name]
}

// forget ends the tracks of an object: every operator in the namespace may still write to what is left of it.
func (w *worker) forget(job string) {
	for _, c := range w.sandboxes {
		c.Proxy.Forget(job)
	}
}

// Open starts a control plane with the shipped CRDs and permissions, and the sandboxes on it.
func Open(ctx context.Context, o Options) (s *Stage, err error) {
	s = &Stage{options: o, references: map[string]reference{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	options := cluster.Options{Source: filepath.Join(o.Root, "localcluster"), Users: map[string]string{}, History: true, Store: operator.Store(), CRs: operator.CRs(), Nodes: nodes, Progress: sayer(o.Say)}
	var scenarios []scenario.Scenario
	for _, p := range o.Programs {
		options.Users[p.Name] = p.User
		for _, file := range p.CRDs {
			options.CRDs = append(options.CRDs, filepath.Join(o.Root, file))
		}
		if p.Converted != nil {
			folder, err := s.convert(ctx, p)
			if err != nil {
				return s, fmt.Errorf("serve %s in all versions: %w", p.Converted.Kind.Name, err)
			}
			options.CRDs = append(options.CRDs, folder)
		}
		scenarios = append(scenarios, p.Scenarios...)
	}
	if s.cluster, err = cluster.Start(ctx, options); err != nil {
		return s, fmt.Errorf("start the control plane: %w", err)
	}
	config, err := operator.AdminConfig(s.cluster.Kubeconfig())
	if err != nil {
		return s, err
	}
	if s.admin, err = dynamic.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make the administrator's client: %w", err)
	}
	if s.typed, err = kubernetes.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make the administrator's client: %w", err)
	}
	for _, p := range o.Programs {
		for _, file := range p.Permissions {
			if _, err := operator.Kubectl(ctx, s.cluster.Kubeconfig(), nil, "apply", "-f", filepath.Join(o.Root, file)); err != nil {
				return s, err
			}
		}
	}
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopRecording = stop
	if s.recorder, err = history.Record(recording, config, scenario.Resources(scenarios)...); err != nil {
		return s, fmt.Errorf("record what happens: %w", err)
	}
	for i := range o.Sandboxes {
		if err := s.openSandboxes(ctx, scenario.Places{Namespace: fmt.Sprintf("sandbox-%d", i), Elsewhere: fmt.Sprintf("sandbox-%d-there", i)}); err != nil {
			return s, err
		}
	}
	return s, nil
}

// convert starts the webhook of a program and returns a folder of CRDs that has the kind with this conversion.
func (s *Stage) convert(ctx context.Context, p Program) (crds string, err error) {
	dir := filepath.Join(s.options.Dir, "webhook")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the webhook: %w", err)
	}
	webhook, err := served.NewWebhook(dir, append(p.Command[:1:1], p.Converted.Command...)...)
	if err != nil {
		return "", err
	}
	authority, err := webhook.Certify(time.Now(), 24*time.Hour)
	if err != nil {
		return "", err
	}
	process, err := webhook.Start(ctx)
	if process != nil {
		s.webhooks = append(s.webhooks, process)
	}
	if err != nil {
		return "", err
	}
	crds = filepath.Join(dir, "crd")
	return crds, served.CRDs(crds, filepath.Join(s.options.Root, p.Converted.Folder), p.Converted.File, p.Converted.Kind, webhook.Client(authority))
}

// openSandboxes opens one sandbox for each operator, in the same namespaces.
func (s *Stage) openSandboxes(ctx context.Context, p scenario.Places) error {
	w := &worker{places: p, sandboxes: map[string]*sandbox.Sandbox{}, logs: map[*sandbox.Sandbox]int64{}}
	s.workers = append(s.workers, w)
	for _, namespace := range []string{p.Namespace, p.Elsewhere} {
		if err := s.namespace(ctx, namespace); err != nil {
			return err
		}
	}
	other, err := s.typed.CoreV1().ConfigMaps(p.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bystander}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make an object of somebody else's: %w", err)
	}
	w.bystander = other
	for _, program := range s.options.Programs {
		upstream, err := clientcmd.BuildConfigFromFlags("", s.cluster.UserKubeconfig(program.Name))
		if err != nil {
			return fmt.Errorf("read the kubeconfig of operator %s: %w", program.Name, err)
		}
		c, err := sandbox.Open(sandbox.Options{Operator: program.Command, Processes: program.Processes, Upstream: upstream, Namespace: p.Namespace, Dir: filepath.Join(s.options.Dir, p.Namespace, program.Name)})
		if err != nil {
			return fmt.Errorf("open a sandbox: %w", err)
		}
		w.sandboxes[program.Name] = c
		for _, sc := range program.Scenarios {
			if sc.Cluster {
				c.Proxy.Select(sc.Resource.Resource, scenario.SandboxLabel+"="+p.Namespace)
			}
		}
	}
	return nil
}

func (s *Stage) namespace(ctx context.Context, name string) error {
	_, err := s.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a namespace: %w", err)
	}
	return nil
}

// Close ends everything that Open started.
func (s *Stage) Close() error {
	var failed []error
	ctx := context.Background()
	for _, w := range s.workers {
		failed = append(failed, s.untouched(ctx, w))
		for name, c := range w.sandboxes {
			if !c.Alive() { // a plan left it dead, or nothing was tried
				c.Kill()
			}
			if err := c.Close(ctx); err != nil {
				failed = append(failed, fmt.Errorf("close %s of %s: %w", c.Namespace(), name, err))
			}
		}
	}
	if s.stopRecording != nil {
		s.stopRecording()
	}
	if s.recorder != nil {
		s.recorder.Wait()
	}
	if s.cluster != nil {
		failed = append(failed, s.cluster.Stop())
	}
	failed = append(failed, s.closeWebhooks(ctx))
	return errors.Join(failed...)
}

// untouched fails if the object that is unrelated to any job has changed.
func (s *Stage) untouched(ctx context.Context, w *worker) error {
	if w.bystander == nil {
		return nil // it was never made
	}
	ctx, cancel := context.WithTimeout(ctx, usualPatience)
	defer cancel()
	is, err := s.typed.CoreV1().ConfigMaps(w.places.Namespace).Get(ctx, bystander, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("look at an object of somebody else's: %w", err)
	}
	if is.UID != w.bystander.UID || is.ResourceVersion != w.bystander.ResourceVersion {
		return fmt.Errorf("ConfigMap %s/%s concerns no operator, and has the UID %s and the version %s, had %s and %s", is.Namespace, is.Name, is.UID, is.ResourceVersion, w.bystander.UID, w.bystander.ResourceVersion)
	}
	return nil
}

// closeWebhooks ends the webhooks. It fails if one was never called although objects were stored: such a webhook was not tested.
func (s *Stage) closeWebhooks(ctx context.Context) error {
	var failed []error
	for _, process := range s.webhooks {
		if s.jobs.Load() > 0 {
			failed = append(failed, served.HasConverted(ctx, process))
		}
		failed = append(failed, process.Stop(ctx))
	}
	return errors.Join(failed...)
}

// Rest ends the operators of all sandboxes and the record, so that the caller has the control plane alone. No plan can be tried
// any longer.
func (s *Stage) Rest() {
	for _, w := range s.workers {
		for _, c := range w.sandboxes {
			c.Kill()
		}
	}
	s.stopRecording()
	s.recorder.Wait()
}

// Kubeconfig returns the administrator's kubeconfig, DefinitionsKubeconfig the same where custom resources are defined, and
// UserKubeconfig that of an operator's user.
func (s *Stage) Kubeconfig() string                    { return s.cluster.Kubeconfig() }
func (s *Stage) DefinitionsKubeconfig() string         { return s.cluster.DefinitionsKubeconfig() }
func (s *Stage) UserKubeconfig(operator string) string { return s.cluster.UserKubeconfig(operator) }

// name returns the name of the next job. All have the same length, so that sizes do not differ; none is a prefix of another.
func (s *Stage) name() string { return fmt.Sprintf("j%05d", s.jobs.Add(1)) }

// clear deletes what a plan leaves. It waits only for what the next run in this sandbox could adopt: names are never used again.
func (s *Stage) clear(a *Attempt) error {
	a.worker.forget(a.Actor.Job)
	if !a.Sandbox.Alive() {
		a.Sandbox.Kill()
	}
	background := metav1.DeletePropagationBackground
	// An error is ignored: a job that no longer exists is the goal, and one that stays does no harm.
	_ = a.Actor.Primary().Delete(context.Background(), a.Actor.Job, metav1.DeleteOptions{PropagationPolicy: &background})
	ctx, cancel := context.WithTimeout(context.Background(), usualPatience)
	defer cancel()
	err := a.Scenario.DeleteOrphans(ctx, a.Actor)
	s.recorder.Forget(a.Run.Subject())
	return err
}

// evidence writes what is known of a failed attempt to a file and returns its name.
func (s *Stage) evidence(a *Attempt, r Result) string {
	s.mu.Lock()
	s.files++
	file := filepath.Join(s.options.Dir, fmt.Sprintf("failure-%03d.txt", s.files))
	s.mu.Unlock()
	if err := os.WriteFile(file, []byte(describe(a, r)), 0o644); err != nil {
		return "cannot be written: " + err.Error()
	}
	return file
}

// reference returns the reference of a scenario, or false before it was run.
func (s *Stage) reference(name string) (reference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.references[name]
	return r, ok
}

// sayer is a writer that passes lines of progress on.
type sayer func(format string, values ...any)

func (f sayer) Write(p []byte) (int, error) {
	f("%s", string(p[:max(len(p)-1, 0)]))
	return len(p), nil
}

package cases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

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
)

// bystander is the name of an object that is unrelated to any job.
const bystander = "bystander"

// Options say where cases are tried, and with which operator.
type Options struct {
	// Root is the checkout.
	Root string
	// Operator is the operator whose scenarios are tried, and Command its command line; see sandbox.Options.
	Operator *scenario.Operator
	Command  []string
	// Sandboxes is how many are used in parallel.
	Sandboxes int
	// Dir is the folder for logs and the evidence of failures.
	Dir string
	// Busy says that the machine may have other work.
	Busy bool
	// Say prints a line of progress.
	Say func(format string, values ...any)
}

// Stage is one control plane on which the cases of one operator are tried.
type Stage struct {
	options  Options
	cluster  *cluster.Cluster
	admin    dynamic.Interface
	typed    kubernetes.Interface
	recorder *history.Recorder
	// stopRecording ends the recorder, after the last case.
	stopRecording context.CancelFunc
	workers       []*worker
	jobs          atomic.Int64

	mu         sync.Mutex
	references map[string]reference
	files      int
}

// worker tries one case after another in a sandbox.
type worker struct {
	places    scenario.Places
	sandbox   *sandbox.Sandbox
	logged    int64 // the offset up to which the operator's log was read
	bystander *corev1.ConfigMap
}

// Open starts a control plane with the operator's CRDs and permissions, and the sandboxes on it.
func Open(ctx context.Context, o Options) (s *Stage, err error) {
	s = &Stage{options: o, references: map[string]reference{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	options := cluster.Options{Source: filepath.Join(o.Root, "localcluster"), Users: map[string]string{"operator": o.Operator.User}, History: true, Progress: sayer(o.Say)}
	for _, file := range o.Operator.CRDs {
		options.CRDs = append(options.CRDs, filepath.Join(o.Root, file))
	}
	c, config, err := operator.StartCluster(options)
	if err != nil {
		return s, err
	}
	s.cluster = c
	if s.admin, err = dynamic.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make the administrator's client: %w", err)
	}
	if s.typed, err = kubernetes.NewForConfig(config); err != nil {
		return s, fmt.Errorf("make the administrator's client: %w", err)
	}
	for _, file := range o.Operator.Permissions {
		if _, err := operator.Kubectl(ctx, c.Kubeconfig(), nil, "apply", "-f", filepath.Join(o.Root, file)); err != nil {
			return s, err
		}
	}
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopRecording = stop
	if s.recorder, err = history.Record(recording, config, scenario.Resources(o.Operator.Scenarios)...); err != nil {
		return s, fmt.Errorf("record what happens: %w", err)
	}
	for i := range o.Sandboxes {
		if err := s.openSandbox(ctx, scenario.Places{Namespace: fmt.Sprintf("sandbox-%d", i), Elsewhere: fmt.Sprintf("sandbox-%d-there", i)}); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Stage) openSandbox(ctx context.Context, p scenario.Places) (err error) {
	w := &worker{places: p}
	for _, name := range []string{p.Namespace, p.Elsewhere} {
		if _, err := s.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make a namespace: %w", err)
		}
	}
	w.bystander, err = s.typed.CoreV1().ConfigMaps(p.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bystander}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make an object of somebody else's: %w", err)
	}
	upstream, err := clientcmd.BuildConfigFromFlags("", s.cluster.UserKubeconfig("operator"))
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	w.sandbox, err = sandbox.Open(sandbox.Options{Operator: s.options.Command, Upstream: upstream, Namespace: p.Namespace, Dir: filepath.Join(s.options.Dir, p.Namespace)})
	if err != nil {
		return fmt.Errorf("open a sandbox: %w", err)
	}
	s.workers = append(s.workers, w)
	return nil
}

// Close ends everything that Open started. It fails if an object that is unrelated to any job has changed.
func (s *Stage) Close() error {
	var failed []error
	ctx := context.Background()
	for _, w := range s.workers {
		now, err := s.typed.CoreV1().ConfigMaps(w.places.Namespace).Get(ctx, bystander, metav1.GetOptions{})
		if err == nil && now.ResourceVersion != w.bystander.ResourceVersion {
			err = fmt.Errorf("the ConfigMap of %s concerns no operator, and has changed: %v", w.places.Namespace, now)
		}
		failed = append(failed, err)
		if !w.sandbox.IsAlive() { // a case left it dead, or nothing was tried
			w.sandbox.Kill()
		}
		if err := w.sandbox.Close(ctx); err != nil {
			failed = append(failed, fmt.Errorf("close %s: %w", w.places.Namespace, err))
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
	return errors.Join(failed...)
}

// name returns the name of the next job. All have the same length, so that sizes do not differ; none is a prefix of another.
func (s *Stage) name() string { return fmt.Sprintf("j%05d", s.jobs.Add(1)) }

// clear deletes what a case leaves. It waits for nothing: names are never used again.
func (s *Stage) clear(a *Attempt) {
	a.sandbox.Proxy.Forget(a.actor.Job)
	if !a.sandbox.IsAlive() {
		a.sandbox.Kill()
	}
	background := metav1.DeletePropagationBackground
	// An error is ignored: a job that no longer exists is the goal, and one that stays does no harm.
	_ = a.actor.Primary().Delete(context.Background(), a.actor.Job, metav1.DeleteOptions{PropagationPolicy: &background})
	s.recorder.Forget(a.run.Subject())
}

// reference returns the reference of a scenario, or false before it was run.
func (s *Stage) reference(name string) (reference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isKnown := s.references[name]
	return r, isKnown
}

// sayer is a writer that passes lines of progress on.
type sayer func(format string, values ...any)

func (f sayer) Write(p []byte) (int, error) {
	f("%s", string(p[:max(len(p)-1, 0)]))
	return len(p), nil
}

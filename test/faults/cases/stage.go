package cases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

// Options say where cases are tried, and with which operator.
type Options struct {
	// Root is the checkout.
	Root string
	// Operator is the operator whose scenarios are tried, and Command its command line: see operator.Options.
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
	recorder *history.Recorder
	// stopRecording ends the recorder, after the last case.
	stopRecording context.CancelFunc
	workers       []*worker

	mu         sync.Mutex
	references map[string]reference
	jobs       int // that were named
	files      int // of evidence
}

// reference is the result of a run without faults. writes counts the numbered requests, including events.
type reference struct {
	oracle.Reference
	writes int
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
	return s, s.openWorkers(ctx, config)
}

func (s *Stage) openWorkers(ctx context.Context, admin *rest.Config) error {
	typed, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	upstream, err := clientcmd.BuildConfigFromFlags("", s.cluster.UserKubeconfig("operator"))
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	for i := range s.options.Sandboxes {
		p := scenario.Places{Namespace: fmt.Sprintf("sandbox-%d", i), Elsewhere: fmt.Sprintf("sandbox-%d-there", i)}
		for _, name := range []string{p.Namespace, p.Elsewhere} {
			if _, err := typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("make a namespace: %w", err)
			}
		}
		w, err := openWorker(p, s.options.Command, upstream, filepath.Join(s.options.Dir, p.Namespace))
		if err != nil {
			return err
		}
		s.workers = append(s.workers, w)
	}
	return nil
}

// Close ends everything that Open started.
func (s *Stage) Close() error {
	var failed []error
	for _, w := range s.workers {
		if err := w.close(context.Background()); err != nil {
			failed = append(failed, fmt.Errorf("close %s: %w", w.Namespace, err))
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

// Learn runs every scenario twice without a fault and keeps the result. Both runs must agree: a scenario whose own end state
// varies can judge nothing.
func (s *Stage) Learn(ctx context.Context, scenarios []scenario.Scenario) []Result {
	var once, again []Case
	for _, sc := range scenarios {
		once = append(once, Case{Goal: "G0", Scenario: sc, act: act{name: "nothing, to learn"}})
		again = append(again, Case{Goal: "G0", Scenario: sc, act: act{name: "nothing, again"}})
	}
	results := s.Try(ctx, once, nil)
	return append(results, s.Try(ctx, again, nil)...)
}

// reference returns the reference of a scenario, or false before it was run.
func (s *Stage) reference(name string) (reference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, isKnown := s.references[name]
	return r, isKnown
}

// Try tries cases in all sandboxes and returns the results in the order in which they ended. It also passes each to done, if that
// is not nil, from one goroutine at a time.
func (s *Stage) Try(ctx context.Context, list []Case, done func(Result)) (results []Result) {
	queue := make(chan Case, len(list))
	for _, c := range list {
		queue <- c
	}
	close(queue)
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, w := range s.workers {
		running.Go(func() {
			for c := range queue {
				r := s.try(ctx, c, w)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				results = append(results, r)
				if done != nil {
					done(r)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return results
}

// sayer is a writer that passes lines of progress on.
type sayer func(format string, values ...any)

func (f sayer) Write(p []byte) (int, error) {
	f("%s", string(p[:max(len(p)-1, 0)]))
	return len(p), nil
}

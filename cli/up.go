package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/controller/program"
	"stoic/training/kinds"
)

// upOptions are the flags of up.
type upOptions struct {
	once     bool
	nodes    int
	source   string
	examples string
	limit    time.Duration
}

func newUpCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Try it: a real control plane on this machine, the operator and some jobs",
		Long: `Start etcd, kube-apiserver, controller-manager and scheduler on loopback ports, with simulated nodes; install the
CRDs; run the operator as the user that deploy/ gives it; submit the examples, right ones and wrong ones; and show
what becomes of them. It stays up until it is interrupted, and leaves nothing behind.

It needs Go and kubectl and a checkout of the sources. The first run compiles the control plane, which takes some
minutes; later ones start in seconds.`,
		Example: `  # Stay up; another terminal can use the kubeconfig that is printed
  stoic up

  # End when the examples have ended; exit 1 if one did not end as it says
  stoic up --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := up(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil && cmd.Context().Err() != nil {
				return &exitError{code: 130, err: errors.New("interrupted")} // what was under way failed for that reason
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&o.once, "once", false, "end when the examples have ended, with exit code 1 if one did not end as it says")
	cmd.Flags().IntVar(&o.nodes, "nodes", 3, "how many simulated nodes")
	cmd.Flags().StringVar(&o.source, "source", "", "the localcluster folder of a checkout (default: found upward from here)")
	cmd.Flags().StringVar(&o.examples, "examples", "", "submit the manifests of this folder instead of the built-in ones")
	cmd.Flags().DurationVar(&o.limit, "timeout", 2*time.Minute, "how long the examples may take")
	return cmd
}

func (o upOptions) check() error {
	if o.nodes < 1 {
		return usageError(fmt.Errorf("--nodes: found %d, must be at least 1", o.nodes))
	}
	if o.limit <= 0 {
		return usageError(fmt.Errorf("--timeout: found %s, must be more than 0", o.limit))
	}
	return nil
}

// stage is one running demonstration.
type stage struct {
	upOptions
	talk    *progress
	out     io.Writer
	cluster *cluster.Cluster
	kubectl kubectl
	metrics string // address

	// stopped is closed when the operator has stopped, with failure if it failed.
	stopped chan struct{}
	failure error
}

// up runs the demonstration. The order matters: the wrong examples are stored while the CRD still lets anything
// in, as objects of an older cluster are; then the CRDs are brought up to date and the operator starts beside them.
func up(ctx context.Context, o upOptions, out, errOut io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	s := &stage{upOptions: o, talk: newProgress(errOut), out: out}
	jobs, err := readExamples(o.examples)
	if err != nil {
		return err
	}
	if err := s.startCluster(ctx, errOut); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cluster.Stop()) }()
	s.kubectl = kubectl{kubeconfig: s.cluster.Kubeconfig()}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.install(ctx, jobs); err != nil {
		return err
	}
	if err := s.startOperator(ctx); err != nil {
		return err
	}
	defer func() { cancel(); <-s.stopped; err = errors.Join(err, s.failure) }()
	wrong, err := s.follow(ctx, jobs)
	if err != nil {
		return err
	}
	if err := s.report(ctx, jobs); err != nil {
		return err
	}
	if o.once {
		if wrong > 0 {
			return fmt.Errorf("%d of %d examples did not end as they say", wrong, len(jobs))
		}
		s.talk.say("all %d examples ended as they say", len(jobs))
		return nil
	}
	return s.stay(ctx)
}

// startCluster starts a control plane with CRDs as an older cluster may have them.
func (s *stage) startCluster(ctx context.Context, progress io.Writer) (err error) {
	crds, err := os.MkdirTemp("", "stoic-up-")
	if err != nil {
		return fmt.Errorf("make a folder for the older CRDs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(crds)) }()
	if err := writeOlderCRDs(crds); err != nil {
		return err
	}
	s.talk.say("starting a control plane (the first time it has to be compiled)")
	s.cluster, err = cluster.Start(ctx, cluster.Options{Source: s.source, Nodes: s.nodes, Progress: progress, CRDs: []string{crds},
		Users: map[string]string{"operator": operatorUser}})
	if errors.Is(err, cluster.ErrNoSource) {
		return usageError(err)
	}
	return err
}

// operatorUser is the service account that deploy/ binds to the operator's replica types.
const operatorUser = "system:serviceaccount:kubeflow:training-operator"

// install stores the wrong examples, brings the CRDs up to date, installs what the operator needs and submits the
// right examples.
func (s *stage) install(ctx context.Context, jobs []example) error {
	s.talk.say("submitting the wrong examples, under a CRD without a schema as older clusters have it")
	if err := s.kubectl.feed(ctx, manifests(jobs, true), "create", "-f", "-"); err != nil {
		return err
	}
	s.talk.say("installing the CRDs, the service account and its roles from deploy/")
	crds, others, err := deployed()
	if err != nil {
		return err
	}
	if err := s.kubectl.feed(ctx, crds, "replace", "-f", "-"); err != nil {
		return err
	}
	if err := s.kubectl.feed(ctx, others, "apply", "-f", "-"); err != nil {
		return err
	}
	s.talk.say("submitting the right examples")
	return s.kubectl.feed(ctx, manifests(jobs, false), "apply", "-f", "-")
}

// startOperator runs the operator in this process, as the user that deploy/ binds.
func (s *stage) startOperator(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	s.metrics = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return fmt.Errorf("free the port again: %w", err)
	}
	file, err := os.Create(filepath.Join(s.cluster.Logs(), "operator.log"))
	if err != nil {
		return fmt.Errorf("make the operator's log: %w", err)
	}
	flags := program.LogFlags{Level: "info", Encoder: "json"}
	log, err := flags.Logger(file)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.UserKubeconfig("operator"))
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	s.talk.say("starting the operator; its log is %s", file.Name())
	s.stopped = make(chan struct{})
	go func() {
		defer close(s.stopped)
		o := daemon{config: config, kinds: inCluster(kinds.Served()), threads: 8, eventQPS: defaultEventQPS, metrics: program.MetricsFlags{Address: s.metrics}, probes: "0", log: log}
		s.failure = errors.Join(o.run(ctx), file.Close())
	}()
	return nil
}

// stay tells how to use the cluster and waits until it is interrupted.
func (s *stage) stay(ctx context.Context) error {
	fmt.Fprintf(s.out, "\nThe cluster stays up until you press Ctrl-C. To use it from another terminal:\n\n"+
		"  export KUBECONFIG=%s\n"+
		"  kubectl get %s -A -o wide\n"+
		"  kubectl describe tfjob odd-quantity\n"+
		"  kubectl delete tfjob mnist; kubectl apply -f examples/mnist.yaml\n\n"+
		"Metrics: http://%s/metrics\n", s.cluster.Kubeconfig(), plurals(), s.metrics)
	select {
	case <-ctx.Done():
		s.talk.say("stopping")
		return nil
	case <-s.cluster.Done():
		return fmt.Errorf("the control plane ended by itself: %w", s.cluster.Err())
	case <-s.stopped:
		return errOperatorEnded
	}
}

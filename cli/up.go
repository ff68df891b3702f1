package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"stoic/cli/cluster"
	"stoic/cli/command"
)

// upOptions are the flags of up.
type upOptions struct {
	once     bool
	nodes    int
	source   string
	examples string
	store    string
	crs      string
	limit    time.Duration
}

func newUpCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Try it: a real control plane on this machine, the operator and some jobs",
		Long: `Start etcd, kube-apiserver, controller-manager and scheduler on loopback ports, with simulated nodes; install the
CRDs; run the operator as the user that deploy/ gives it, and two of examples/operators beside it; submit the
examples, right ones and wrong ones; and show what becomes of them. It stays up until it is interrupted. What was
compiled stays in the user's cache, and with --store URL the objects stay in that database; nothing else is left.

--store says where that control plane keeps its objects: in etcd, or behind KINE in a file of SQLite, or in a database
of PostgreSQL or MariaDB that runs already and that nobody else uses (docs/storage.md). KINE is compiled once, too.
With --crs=aggregated a server of its own serves the custom resources, behind kube-apiserver.

It needs Go and kubectl and a checkout of the sources. The first run compiles the control plane, which takes some
minutes; later ones start in seconds.`,
		Example: `  # Stay up; another terminal can use the kubeconfig that is printed
  stoic up

  # End when the examples have ended; exit 1 if one did not end as it says
  stoic up --once

  # On a database instead of etcd
  stoic up --store postgres://kine:secret@127.0.0.1/kine?sslmode=disable`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := up(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil && cmd.Context().Err() != nil {
				return command.ErrInterrupted // what was under way failed for that reason
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&o.once, "once", false, "end when the examples have ended, with exit code 1 if one did not end as it says")
	cmd.Flags().IntVar(&o.nodes, "nodes", 3, "how many simulated nodes")
	cmd.Flags().StringVar(&o.source, "source", "", "the localcluster folder of a checkout (default: found upward from here)")
	cmd.Flags().StringVar(&o.examples, "examples", "", "submit the jobs of this folder instead of the built-in examples")
	cmd.Flags().StringVar(&o.store, "store", cluster.StoreEtcd, `where the control plane keeps its objects: etcd, kine (SQLite), or the URL of a database`)
	cmd.Flags().StringVar(&o.crs, "crs", cluster.CRsInCore, `who serves custom resources: core, which is kube-apiserver, or aggregated`)
	cmd.Flags().DurationVar(&o.limit, "timeout", 2*time.Minute, "how long the examples may take")
	_ = cmd.MarkFlagDirname("source") // these flags are defined above
	_ = cmd.MarkFlagDirname("examples")
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"store": command.OneOf(cluster.StoreEtcd, cluster.StoreKine), "crs": command.OneOf(cluster.CRsInCore, cluster.CRsAggregated),
		"nodes": cobra.NoFileCompletions, "timeout": cobra.NoFileCompletions})
	return cmd
}

func (o upOptions) check() error {
	if o.nodes < 1 {
		return command.UsageError(fmt.Errorf("--nodes: found %d, must be at least 1", o.nodes))
	}
	if o.limit <= 0 {
		return command.UsageError(fmt.Errorf("--timeout: found %s, must be more than 0", o.limit))
	}
	if err := cluster.CheckStore(o.store); err != nil {
		return command.UsageError(fmt.Errorf("--store: %w", err))
	}
	if o.crs != cluster.CRsInCore && o.crs != cluster.CRsAggregated {
		return command.UsageError(fmt.Errorf("--crs: found %q, must be %s or %s", o.crs, cluster.CRsInCore, cluster.CRsAggregated))
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
	guests  []guest

	// stopped is closed when the operators have stopped, with failure if one failed.
	stopped chan struct{}
	failure error
}

// up runs the demonstration. The order matters: the invalid examples are stored while the CRDs still accept anything, like objects of an
// older cluster. Then the CRDs are updated, and the operator starts with these objects present.
func up(ctx context.Context, o upOptions, out, errOut io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	s := &stage{upOptions: o, talk: newProgress(errOut), out: out}
	jobs, err := readExamples(o.examples)
	if err != nil {
		return err
	}
	if o.examples == "" {
		s.guests = guests()
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
	if s.metrics, err = freeAddress(); err != nil {
		return err
	}
	err = s.startOperators(ctx)
	defer func() { cancel(); <-s.stopped; err = errors.Join(err, s.failure) }()
	if err != nil {
		return err
	}
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
		s.talk.say("all %d examples ended as they say", len(jobs)+2*len(s.guests))
		return nil
	}
	return s.stay(ctx)
}

// startCluster starts a control plane with CRDs that an older cluster may have.
func (s *stage) startCluster(ctx context.Context, progress io.Writer) (err error) {
	crds, err := os.MkdirTemp("", "stoic-up-")
	if err != nil {
		return fmt.Errorf("make a folder for the older CRDs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(crds)) }()
	if err := writeOlderCRDs(crds); err != nil {
		return err
	}
	users := map[string]string{"operator": operatorUser}
	for _, g := range s.guests {
		if err := g.writeOlderCRD(crds); err != nil {
			return err
		}
		users[g.name] = g.user
	}
	s.talk.say("starting a control plane (the first time it has to be compiled)")
	s.cluster, err = cluster.Start(ctx, cluster.Options{Source: s.source, Nodes: s.nodes, Store: s.store, CRs: s.crs, Progress: progress, Began: s.talk.began, CRDs: []string{crds}, Users: users})
	if errors.Is(err, cluster.ErrNoSource) {
		return command.UsageError(err)
	}
	return err
}

// install stores the invalid examples, updates the CRDs, installs what the operators need and submits the valid examples.
func (s *stage) install(ctx context.Context, jobs []example) error {
	crds, others, err := deployed()
	if err != nil {
		return err
	}
	texts := stageManifests{wrong: manifests(jobs, true), crds: crds, others: others, right: manifests(jobs, false)}
	for _, g := range s.guests {
		if err := texts.add(g); err != nil {
			return err
		}
	}
	s.talk.say("submitting the wrong examples, under a CRD without a schema as older clusters have it")
	if err := s.kubectl.feed(ctx, texts.wrong, "create", "-f", "-"); err != nil {
		return err
	}
	s.talk.say("installing the CRDs, the service accounts and their roles from deploy/")
	if err := redefine(ctx, s.cluster.DefinitionsKubeconfig(), texts.crds); err != nil {
		return err
	}
	if err := s.kubectl.feed(ctx, texts.others, "apply", "-f", "-"); err != nil {
		return err
	}
	s.talk.say("submitting the right examples")
	return s.kubectl.feed(ctx, texts.right, "apply", "-f", "-")
}

// stay prints how to use the cluster, and waits until it is interrupted.
func (s *stage) stay(ctx context.Context) error {
	fmt.Fprintf(s.out, "\nThe cluster stays up until you press Ctrl-C. To use it from another terminal:\n\n"+
		"  export KUBECONFIG=%s\n"+
		"  kubectl get %s -A -o wide\n"+
		"  kubectl describe tfjob odd-quantity\n"+
		"  kubectl delete tfjob mnist; kubectl apply -f examples/mnist.yaml\n", quoted(s.cluster.Kubeconfig()), plurals())
	if len(s.guests) > 0 {
		fmt.Fprintf(s.out, "  kubectl get %s,pods -A\n", s.guestPlurals())
	}
	fmt.Fprintf(s.out, "\nMetrics: http://%s/metrics\n", s.metrics)
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

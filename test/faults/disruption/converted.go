package disruption

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"stoic/test/operator"
	"stoic/test/served"
	trainingversions "stoic/training/versions"
)

// converting is the version in which users write TFJobs where our webhook converts them.
const converting = "v1beta2"

// webhook is that of this checkout, in a process beside the operator.
type webhook struct {
	served  *served.Webhook
	process *operator.Process // nil: none runs
}

// converted returns the same plan where TFJobs are served in all their versions, users write an older one, and our webhook
// converts them.
func converted(p Plan) Plan {
	run := p.Run
	p.Name += ", with conversion"
	p.Run = func(ctx context.Context, env Env) (err error) {
		dir, err := os.MkdirTemp("", "disruption-")
		if err != nil {
			return fmt.Errorf("make a folder for the webhook: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		w := &webhook{}
		if w.served, err = served.NewWebhook(dir, env.Operator, "webhook"); err != nil {
			return err
		}
		authority, err := w.served.Certify(time.Now(), time.Hour)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.stop()) }()
		if err := w.start(ctx); err != nil {
			return err
		}
		env.webhook, env.crds = w, filepath.Join(dir, "crd")
		if err := served.CRDs(env.crds, filepath.Join(env.Root, "deploy/crd"), "tfjobs.yaml", trainingversions.TFJob(), w.served.Client(authority)); err != nil {
			return err
		}
		if err := run(ctx, env); err != nil {
			return err
		}
		return served.HasConverted(ctx, w.process)
	}
	return p
}

// start starts the webhook and waits until it is ready.
func (w *webhook) start(ctx context.Context) (err error) {
	w.process, err = w.served.Start(ctx)
	return err
}

// kill kills the webhook, as the loss of a node does.
func (w *webhook) kill() error {
	p := w.process
	w.process = nil
	return p.Kill()
}

// stop stops the webhook, and checks how it ended.
func (w *webhook) stop() error {
	if w.process == nil {
		return nil
	}
	return w.process.Stop(context.Background())
}

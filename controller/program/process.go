package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"stoic/controller"
	"stoic/controller/serve"
	"stoic/convert/versions"
)

// Process is what runs: a controller and its HTTP endpoints.
type Process struct {
	// Controller is made with these options. Registry, Now and an empty Identity are filled in.
	Controller controller.Options
	Registry   *prometheus.Registry
	Version    string // of the program, for the log and for the API server's audit log
	UserAgent  string // what the API server calls the program, in front of the version
	Metrics    MetricsFlags
	Conversion ConversionFlags // the zero value serves none
	Converts   []versions.Kind // what it converts, of watches that it serves or not
	Probes     string          // address, or "0" for none
	Profiling  bool            // serve profiles beside the metrics
	Log        *LogFlags       // that the logger of the controller was made by; nil: its level stays
}

// NewRegistry returns a registry with the metrics of the Go runtime and of the process.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Run serves until ctx ends, and returns nil after a graceful stop.
func (p Process) Run(ctx context.Context) error {
	o := p.Controller
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the name of this host: %w", err)
		}
		o.Identity = cmp.Or(os.Getenv("MY_POD_NAME"), fmt.Sprintf("%s-%d", host, os.Getpid()))
	}
	o.Config = rest.CopyConfig(o.Config)
	o.Config.UserAgent = p.UserAgent + "/" + p.Version
	o.Config.WarningHandlerWithContext = rest.NoWarnings{}
	o.Registry, o.Now = p.Registry, time.Now
	p.Registry.MustRegister(BuildOf(p.Version).Metric(controller.MetricsPrefix(o.Name)))
	c, err := controller.New(o)
	if err != nil {
		return err
	}
	metrics, err := p.Metrics.endpoint(serve.MetricsHandler(p.Registry, p.Profiling), c.Config(), o.Log)
	if err != nil {
		return err
	}
	convert, err := p.Conversion.endpoint(p.Converts, p.Registry, controller.MetricsPrefix(o.Name), o.Log)
	if err != nil {
		return err
	}
	endpoints, err := listen([]endpoint{convert, metrics, {flag: "--health-probe-bind-address", address: p.Probes, handler: c.HealthHandler()}})
	if err != nil {
		return err
	}
	// The endpoints stay up until the controller has stopped, so that the last counts can still be scraped. Conversion begins before the
	// first object is read, and whether this process leads or not: the API server can read no object without it.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	group, ctx := errgroup.WithContext(ctx)
	serveAll(serving, group, endpoints, o.Log)
	o.Log.Info("starting", zap.String("version", p.Version), zap.Strings("kinds", kinds(o.Watches)), zap.String("namespace", o.Namespace))
	if p.Log != nil {
		group.Go(func() error {
			p.Log.FollowLevel(serving, o.Log)
			return nil
		})
	}
	group.Go(func() error {
		goCollector().keepSmall(ctx, c.Unread)
		return nil
	})
	group.Go(func() error {
		defer stopServing()
		return c.Run(ctx)
	})
	return group.Wait()
}

func kinds(watches []controller.Watch) []string {
	names := make([]string, len(watches))
	for i, w := range watches {
		names[i] = w.Resource.Kind
	}
	return names
}

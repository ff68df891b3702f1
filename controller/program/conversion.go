package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"stoic/controller"
	"stoic/controller/access"
	"stoic/controller/conversion"
	"stoic/controller/serve"
	"stoic/convert/versions"
)

// ConversionFlags say where objects are converted between the versions of their kinds, for API servers.
type ConversionFlags struct {
	Address  string // or "0" for nowhere
	CertPath string
}

// Register adds them to the flags of a program. address is the default address.
func (f *ConversionFlags) Register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&f.Address, "conversion-bind-address", address, "where "+conversion.Path+` converts objects between the versions of their kind for API servers, over TLS; "0" for nowhere`)
	flags.StringVar(&f.CertPath, "conversion-cert-path", "", "folder with "+access.CertFile+" and "+access.KeyFile+" for --conversion-bind-address, read again when they change")
}

// Check returns an error if the flags cannot work.
func (f *ConversionFlags) Check() error {
	switch {
	case f.Address == "":
		return usage(errors.New(`--conversion-bind-address: found "", must be an address such as ":9443", or "0" for nowhere`))
	case f.Address != "0" && f.CertPath == "":
		return usage(errors.New("--conversion-cert-path: not found, must be given with --conversion-bind-address: API servers speak to a webhook over TLS alone"))
	case f.Address == "0" && f.CertPath != "":
		return usage(errors.New("--conversion-cert-path: found without --conversion-bind-address, must be given with it, or be left out"))
	}
	return nil
}

// on reports whether conversion is requested. The zero value requests none.
func (f *ConversionFlags) on() bool { return f.Address != "0" && f.Address != "" }

// endpoint returns the endpoint that converts objects of these kinds. Its metrics have the prefix.
func (f *ConversionFlags) endpoint(kinds []versions.Kind, registry prometheus.Registerer, prefix string, log *zap.Logger) (endpoint, error) {
	e := endpoint{flag: "--conversion-bind-address", address: "0"}
	if !f.on() {
		return e, nil
	}
	e.address = f.Address
	webhook, err := conversion.New(conversion.Options{Kinds: kinds, Registry: registry, Prefix: prefix, Log: log})
	if err != nil {
		return e, err
	}
	if e.tls, err = access.TLS(f.CertPath, "", time.Now, log); err != nil {
		return e, fmt.Errorf("--conversion-cert-path: %w", err)
	}
	registry.MustRegister(conversion.Expiry(prefix, func() (time.Time, error) { return access.NotAfter(e.tls) }))
	mux := http.NewServeMux()
	mux.Handle(conversion.Path, webhook)
	e.handler = mux
	return e, nil
}

// converted returns the kinds of watches that have several versions.
func converted(watches []controller.Watch) (kinds []versions.Kind) {
	for _, w := range watches {
		if w.Versions != nil {
			kinds = append(kinds, *w.Versions)
		}
	}
	return kinds
}

// Conversion is a process that converts objects between versions and does nothing else: it reads and writes no object, and needs no
// permission and no API server.
type Conversion struct {
	Name     string // of the operator: metrics begin with it
	Kinds    []versions.Kind
	Flags    ConversionFlags
	Metrics  MetricsFlags // plain ones; Secure needs an API server
	Probes   string       // address, or "0" for none
	Registry *prometheus.Registry
	Version  string
	Log      *zap.Logger
	LogFlags *LogFlags // that made the log; nil: its level stays
}

// Run serves until ctx ends, and returns nil after a graceful stop. It is ready as soon as it listens.
func (p Conversion) Run(ctx context.Context) error {
	prefix := controller.MetricsPrefix(p.Name)
	p.Registry.MustRegister(BuildOf(p.Version).Metric(prefix))
	convert, err := p.Flags.endpoint(p.Kinds, p.Registry, prefix, p.Log)
	if err != nil {
		return err
	}
	metrics, err := p.Metrics.endpoint(serve.MetricsHandler(p.Registry, false), nil, p.Log)
	if err != nil {
		return err
	}
	fine := func() string { return "" }
	endpoints, err := listen([]endpoint{convert, metrics, {flag: "--health-probe-bind-address", address: p.Probes, handler: serve.HealthHandler(fine, fine)}})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	serveAll(ctx, group, endpoints, p.Log)
	if p.LogFlags != nil {
		group.Go(func() error {
			p.LogFlags.FollowLevel(ctx, p.Log)
			return nil
		})
	}
	return group.Wait()
}

// serveAll answers on all endpoints until ctx ends.
func serveAll(ctx context.Context, group *errgroup.Group, endpoints []endpoint, log *zap.Logger) {
	for _, e := range endpoints {
		log.Info("listening", zap.String("for", e.flag), zap.String("address", e.listener.Addr().String()), zap.Bool("tls", e.tls != nil))
		group.Go(func() error { return serve.HTTP(ctx, e.listener, e.handler, log) })
	}
}

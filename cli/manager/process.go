package manager

import (
	"context"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"stoic/cli/command"
	"stoic/controller"
	"stoic/controller/election"
	"stoic/controller/program"
	"stoic/training"
	"stoic/training/operator"
	"stoic/training/versions"
)

// Process is the running operator, and the kinds that it serves.
type Process struct {
	Config     *rest.Config
	Kinds      []*training.Kind
	Namespace  string
	Threads    int
	EventQPS   float32
	Metrics    program.MetricsFlags
	Conversion program.ConversionFlags
	Probes     string // address, or "0"
	Profiling  bool
	Election   *election.Lease
	Log        *zap.Logger
	LogFlags   *program.LogFlags // that made the log
}

// Run serves the kinds until ctx ends.
func (p Process) Run(ctx context.Context) error {
	registry := program.NewRegistry()
	options := controller.Options{
		Name:      operator.Name,
		Config:    p.Config,
		Watches:   operator.Watches(p.Kinds, operator.NewMetrics(registry)),
		Namespace: p.Namespace,
		Workers:   p.Threads,
		EventQPS:  p.EventQPS,
		Lease:     p.Election,
		Log:       p.Log,
	}
	process := program.Process{
		Registry:   registry,
		Version:    command.Version,
		UserAgent:  "stoic",
		Metrics:    p.Metrics,
		Conversion: p.Conversion,
		Converts:   versions.Kinds(),
		Probes:     p.Probes,
		Profiling:  p.Profiling,
		Log:        p.LogFlags,
		Controller: options,
	}
	return process.Run(ctx)
}

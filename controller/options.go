package controller

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"stoic/controller/election"
	"stoic/controller/watch"
)

// Options are what a controller is made of. Every field but Lease and Namespace is required.
type Options struct {
	// Name is that of the operator. Events are reported under it, and the engine's metrics have it as a prefix, with
	// "_" for "-".
	Name      string
	Config    *rest.Config
	Watches   []Watch
	Namespace string  // of the objects to serve; "" is all. Their children in other namespaces are seen nevertheless
	Workers   int     // per watch
	EventQPS  float32 // events per second; negative for no limit
	Identity  string  // who reports events and holds the lease: the pod's name
	Lease     *election.Lease
	Log       *zap.Logger
	Registry  prometheus.Registerer
	Now       func() time.Time
}

// check returns an error that names the first option that cannot work, or nil.
func (o *Options) check() error {
	switch {
	case len(validation.IsDNS1035Label(o.Name)) > 0:
		return fmt.Errorf("Name: found %q, must be lower-case letters, digits and -, and begin with a letter: metrics and events carry it", o.Name)
	case o.Config == nil:
		return errors.New("Config is nil, must say where the API server is")
	case o.Log == nil:
		return errors.New("Log is nil, must be a logger, such as zap.NewNop()")
	case o.Registry == nil:
		return errors.New("Registry is nil, must be one of Prometheus")
	case o.Now == nil:
		return errors.New("Now is nil, must be a clock, such as time.Now")
	case o.Workers < 1:
		return fmt.Errorf("Workers: found %d, must be 1 or more", o.Workers)
	case o.EventQPS == 0:
		return errors.New("EventQPS: found 0, must be the number of events per second, or negative for no limit")
	case o.Identity == "":
		return errors.New("Identity: not found, must be the name of the pod, or another that no other process has")
	case len(o.Watches) == 0:
		return errors.New("no resource to watch")
	}
	return watch.CheckAll(o.Watches)
}

package program

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"stoic/controller/access"
)

// MetricsFlags say where and to whom metrics are served. They have the names that operators commonly use.
type MetricsFlags struct {
	Address  string // or "0" for nowhere
	Secure   bool
	CertPath string
}

// Register adds them to the flags of a program.
func (f *MetricsFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Address, "metrics-bind-address", ":8080", `where /metrics is served; "0" for nowhere`)
	flags.BoolVar(&f.Secure, "metrics-secure", false, "serve metrics over TLS, only to clients whose bearer token has the right to get the path, as the API server says (TokenReview, SubjectAccessReview)")
	flags.StringVar(&f.CertPath, "metrics-cert-path", "", "folder with "+access.CertFile+" and "+access.KeyFile+" for --metrics-secure, read again when they change (default: a self-signed certificate, made in memory)")
}

// Check returns an error if the flags cannot work.
func (f *MetricsFlags) Check() error {
	switch {
	case f.Address == "":
		return usage(errors.New(`--metrics-bind-address: found "", must be an address such as ":8080", or "0" for nowhere`))
	case f.CertPath != "" && !f.Secure:
		return usage(errors.New("--metrics-cert-path: found without --metrics-secure, must be given with it, or be left out"))
	}
	return nil
}

// endpoint returns the endpoint that serves a handler as the flags say. config is for requests to the API server.
func (f *MetricsFlags) endpoint(handler http.Handler, config *rest.Config, log *zap.Logger) (endpoint, error) {
	e := endpoint{flag: "--metrics-bind-address", address: f.Address, handler: handler}
	if !f.Secure || f.Address == "0" {
		return e, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return e, fmt.Errorf("find the name of this host: %w", err)
	}
	if e.tls, err = access.TLS(f.CertPath, host, time.Now, log); err != nil {
		return e, fmt.Errorf("--metrics-cert-path: %w", err)
	}
	gate, err := access.NewGate(config, log)
	if err != nil {
		return e, err
	}
	e.handler = gate.Guard(handler)
	return e, nil
}

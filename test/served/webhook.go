package served

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/controller/access"
	"stoic/controller/conversion"
	"stoic/controller/conversion/manifest"
	"stoic/convert/versions"
	"stoic/test/operator"
)

// Webhook is a conversion webhook on a loopback address: how its process is started, and how API servers reach it.
type Webhook struct {
	Options operator.Options // of its process
	url     string
	dir     string // of the certificate and the log
}

// NewWebhook returns the webhook of a command line, to which it adds the flags of a webhook. dir is for the certificate and the log.
func NewWebhook(dir string, command ...string) (*Webhook, error) {
	address, err := operator.Address()
	if err != nil {
		return nil, err
	}
	flags := []string{"--conversion-bind-address", address, "--conversion-cert-path", dir, "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}"}
	o := operator.Options{Command: append(command[:len(command):len(command)], flags...), Log: filepath.Join(dir, "webhook.log")}
	return &Webhook{Options: o, url: "https://" + address + conversion.Path, dir: dir}, nil
}

// Certify writes a certificate that is valid from a time on. It returns the authority that has signed it. A running process reads
// the certificate again.
func (w *Webhook) Certify(from time.Time, lasts time.Duration) (authority []byte, err error) {
	authority, crt, key, err := manifest.Certificate(from, lasts, "127.0.0.1")
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	for name, text := range map[string][]byte{access.CertFile: crt, access.KeyFile: key} {
		if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("write the certificate: %w", err)
		}
	}
	return authority, nil
}

// Start starts a process of the webhook and waits until it is ready. The caller ends the returned process, also after an error.
func (w *Webhook) Start(ctx context.Context) (*operator.Process, error) {
	p, err := operator.Start(w.Options)
	if err != nil {
		return nil, fmt.Errorf("start the webhook: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return p, p.AwaitReady(ctx)
}

// HasConverted returns an error if a process of the training operator's webhook has converted nothing: then a test of it proves nothing.
func HasConverted(ctx context.Context, p *operator.Process) error {
	n, _, err := p.Sample(ctx, "training_operator_conversion_objects_total")
	if err == nil && n == 0 {
		err = errors.New("the webhook has converted nothing")
	}
	return err
}

// Client returns the client configuration for API servers that trust an authority.
func (w *Webhook) Client(authority []byte) crdv1.WebhookClientConfig {
	url := w.url
	return crdv1.WebhookClientConfig{URL: &url, CABundle: authority}
}

// CRDs copies a folder of CRDs into a new one. The CRD of the kind is changed so that it serves all versions of the kind and the
// webhook converts them.
func CRDs(to, from, file string, kind versions.Kind, webhook crdv1.WebhookClientConfig) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the CRDs: %w", err)
	}
	path := filepath.Join(to, file)
	stored, err := read(path)
	if err != nil {
		return err
	}
	crd, err := manifest.CRD(stored, kind, webhook)
	if err != nil {
		return fmt.Errorf("add versions to the CRD in %s: %w", path, err)
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	return nil
}

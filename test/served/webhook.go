package served

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/controller/access"
	"stoic/controller/conversion"
	"stoic/controller/conversion/manifest"
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

// Client returns the client configuration for API servers that trust an authority.
func (w *Webhook) Client(authority []byte) crdv1.WebhookClientConfig {
	url := w.url
	return crdv1.WebhookClientConfig{URL: &url, CABundle: authority}
}

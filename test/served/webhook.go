package served

import (
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

// Converted is the name of the metric with which a webhook of the training operator counts the objects that it has converted.
const Converted = "training_operator_conversion_objects_total"

// Webhook is a conversion webhook on a loopback address: how a process of it is started, and how API servers reach it.
type Webhook struct {
	// Options of its process; Log is for the caller to set.
	Options operator.Options
	url     string
	dir     string // of the certificate
}

// NewWebhook of a command line, to which the flags of a webhook are added. dir takes the certificate.
func NewWebhook(dir string, command ...string) (*Webhook, error) {
	address, err := operator.Address()
	if err != nil {
		return nil, err
	}
	flags := []string{"--conversion-bind-address", address, "--conversion-cert-path", dir, "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}"}
	return &Webhook{Options: operator.Options{Command: append(command[:len(command):len(command)], flags...)}, url: "https://" + address + conversion.Path, dir: dir}, nil
}

// Certify writes a certificate that is valid from a time on. It returns the authority that has signed it. A process that runs reads the
// certificate again.
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

// Client of an API server that trusts an authority.
func (w *Webhook) Client(authority []byte) crdv1.WebhookClientConfig {
	url := w.url
	return crdv1.WebhookClientConfig{URL: &url, CABundle: authority}
}

// CRDs copies a folder of CRDs into another one, which it makes. The CRD of the kind is written so that the webhook converts: it serves
// all versions of the kind.
func CRDs(to, from, file string, kind versions.Kind, webhook crdv1.WebhookClientConfig) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the CRDs: %w", err)
	}
	path := filepath.Join(to, file)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	stored := &crdv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, stored); err != nil {
		return fmt.Errorf("read the CRD in %s: %w", path, err)
	}
	crd, err := manifest.CRD(stored, kind, webhook)
	if err != nil {
		return fmt.Errorf("add versions to the CRD in %s: %w", path, err)
	}
	if text, err = yaml.Marshal(crd); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	return nil
}

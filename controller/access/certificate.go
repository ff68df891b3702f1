package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/util/cert"
)

const (
	// CertFile and KeyFile are the names of the files in a Secret of type kubernetes.io/tls.
	CertFile, KeyFile = "tls.crt", "tls.key"
	// lookEvery is how often the files are read at most, when a connection is made. A renewed certificate is used from the first
	// connection after that.
	lookEvery = 10 * time.Second
	// renewBefore is how long before its end a certificate that was made in memory is replaced.
	renewBefore = 30 * 24 * time.Hour
)

// TLS returns a configuration that serves the certificate in a folder, as CertFile and KeyFile. Files that change are read again. While
// they do not match, or are missing, the last certificate stays. Without a folder, a self-signed certificate for the host is made in
// memory.
func TLS(folder, host string, now func() time.Time, log *zap.Logger) (*tls.Config, error) {
	c := &certificate{folder: folder, host: host, now: now, log: log}
	if err := c.renew(); err != nil {
		return nil, err
	}
	// HTTP/2 gives a scrape nothing, and lets one connection make many requests at a time.
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.get}, nil
}

// NotAfter returns when the certificate that TLS serves now ends.
func NotAfter(c *tls.Config) (time.Time, error) {
	now, err := c.GetCertificate(nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at the certificate: %w", err)
	}
	return now.Leaf.NotAfter, nil
}

type certificate struct {
	folder, host string
	now          func() time.Time
	log          *zap.Logger

	mu       sync.Mutex
	current  *tls.Certificate
	crt, key []byte    // what current was made of
	looked   time.Time // when the files were read last
	failed   bool      // the last look did not lead to a certificate, which is on the log
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked) >= lookEvery {
		err := c.renew()
		if err != nil && !c.failed {
			c.log.Warn("a certificate is not renewed; the last one stays", zap.Error(err))
		}
		c.failed = err != nil
	}
	return c.current, nil
}

// renew reads the files again, or replaces a certificate that was made in memory if it is due.
func (c *certificate) renew() error {
	c.looked = c.now()
	if c.folder == "" {
		return c.makeOne()
	}
	crt, err := os.ReadFile(filepath.Join(c.folder, CertFile))
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(c.folder, KeyFile))
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	if bytes.Equal(crt, c.crt) && bytes.Equal(key, c.key) {
		return nil
	}
	return c.take(crt, key)
}

// makeOne makes a self-signed certificate. Scrapers cannot verify it, but what they send cannot be read in transit.
func (c *certificate) makeOne() error {
	if c.current != nil && c.now().Before(c.current.Leaf.NotAfter.Add(-renewBefore)) {
		return nil
	}
	crt, key, err := cert.GenerateSelfSignedCertKey(c.host, nil, nil)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	return c.take(crt, key)
}

func (c *certificate) take(crt, key []byte) error {
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return fmt.Errorf("take up a certificate and its key: %w", err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
	}
	c.current, c.crt, c.key = &pair, crt, key
	c.log.Info("certificate", zap.Strings("for", pair.Leaf.DNSNames), zap.Time("until", pair.Leaf.NotAfter), zap.String("serial", pair.Leaf.SerialNumber.Text(16)))
	return nil
}

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
	// CertFile and KeyFile are the names that a Secret of type kubernetes.io/tls has them under.
	CertFile, KeyFile = "tls.crt", "tls.key"
	// lookEvery is how often the files are read at most, when a connection is made: a certificate that was renewed is used
	// from the first connection after that.
	lookEvery = 10 * time.Second
	// renewBefore the end of a certificate that was made in memory another is made.
	renewBefore = 30 * 24 * time.Hour
)

// TLS serves with the certificate in a folder, as CertFile and KeyFile. Files that change are read again; while they do not go
// together, or are gone, the last certificate stays. With no folder, a certificate for the host is made in memory, that
// nobody has signed.
func TLS(folder, host string, now func() time.Time, log *zap.Logger) (*tls.Config, error) {
	c := &certificate{folder: folder, host: host, now: now, log: log}
	if err := c.renew(); err != nil {
		return nil, err
	}
	// HTTP/2 has nothing for a scrape, and lets one connection ask for much at once.
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.get}, nil
}

// NotAfter is when the certificate ends that TLS serves with now.
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

// renew takes up what has changed.
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

// makeOne signs itself: scrapers cannot tell it from that of another, but what they send is not read on the way.
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

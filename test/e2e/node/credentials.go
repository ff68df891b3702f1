//go:build linux

package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs all certificates of a cluster. It ends with the test.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

const authorityFile, signTokens, verifyTokens = "ca.crt", "tokens.key", "tokens.pub"

// newAuthority writes its certificate, and a key for the tokens of service accounts, into the folder.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	var err error
	if a.key, err = a.newKey("ca"); err != nil {
		return nil, err
	}
	a.certificate = a.blank(pkix.Name{CommonName: "e2e"})
	a.certificate.IsCA, a.certificate.BasicConstraintsValid = true, true
	a.certificate.KeyUsage |= x509.KeyUsageCertSign
	if err := a.sign("ca", a.certificate, a.key); err != nil {
		return nil, err
	}
	tokens, err := a.newKey("tokens")
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(tokens.Public())
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	return a, a.write(verifyTokens, "PUBLIC KEY", public)
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) blank(subject pkix.Name) *x509.Certificate {
	a.serial++
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(a.serial), Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// newKey writes NAME.key.
func (a *authority) newKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return key, a.write(name+".key", "PRIVATE KEY", der)
}

// sign writes NAME.crt.
func (a *authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	return a.write(name+".crt", "CERTIFICATE", der)
}

func (a *authority) write(name, kind string, der []byte) error {
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// server writes NAME.crt and NAME.key for a server at the node's addresses.
func (a *authority) server(name string) error {
	key, err := a.newKey(name)
	if err != nil {
		return err
	}
	template := a.blank(pkix.Name{CommonName: name})
	template.DNSNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"}
	for _, address := range []string{nodeAddress, serverAddress, "127.0.0.1"} {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	return a.sign(name, template, key)
}

// client writes NAME.crt, NAME.key and NAME.kubeconfig for a user.
func (a *authority) client(name, user string, groups ...string) error {
	key, err := a.newKey(name)
	if err != nil {
		return err
	}
	if err := a.sign(name, a.blank(pkix.Name{CommonName: user, Organization: groups}), key); err != nil {
		return err
	}
	ca, err := os.ReadFile(a.file(authorityFile))
	if err != nil {
		return fmt.Errorf("read the authority's certificate: %w", err)
	}
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority-data: %s}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
users: [{name: e2e, user: {client-certificate: %q, client-key: %q}}]
`, serverAddress, base64.StdEncoding.EncodeToString(ca), a.file(name+".crt"), a.file(name+".key"))
	if err := os.WriteFile(a.file(name+".kubeconfig"), []byte(content), 0o600); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

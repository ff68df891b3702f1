//go:build linux

package node

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs all certificates of a cluster. It ends with the test.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
	serial      int64
}

// The certificate of the authority, and the key for the tokens of service accounts.
const (
	authorityFile = "ca.crt"
	tokensFile    = "tokens.key"
)

// newAuthority writes its certificate, and a key for the tokens of service accounts, into the folder.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	var err error
	if a.key, err = a.newKey("ca"); err != nil {
		return nil, err
	}
	if a.certificate, err = cert.NewSelfSignedCACert(cert.Config{CommonName: "e2e"}, a.key); err != nil {
		return nil, err
	}
	if _, err := a.newKey("tokens"); err != nil {
		return nil, err
	}
	return a, a.writeCertificate(authorityFile, a.certificate.Raw)
}

func (a *authority) write(file string, content []byte) error {
	return os.WriteFile(filepath.Join(a.dir, file), content, 0o600)
}

func (a *authority) writeCertificate(file string, der []byte) error {
	return a.write(file, pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}))
}

// newKey writes NAME.key.
func (a *authority) newKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return key, a.write(name+".key", text)
}

// issue writes NAME.crt and NAME.key for a client, which may be a server at the node's addresses, too.
func (a *authority) issue(name string, subject pkix.Name) error {
	key, err := a.newKey(name)
	if err != nil {
		return err
	}
	a.serial++
	template := &x509.Certificate{SerialNumber: big.NewInt(a.serial), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"},
		IPAddresses: []net.IP{net.ParseIP(nodeAddress), net.ParseIP(serverAddress), net.ParseIP("127.0.0.1")}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.writeCertificate(name+".crt", der)
}

// client writes NAME.crt, NAME.key and NAME.kubeconfig for a user.
func (a *authority) client(name, user string, groups ...string) error {
	if err := a.issue(name, pkix.Name{CommonName: user, Organization: groups}); err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(a.dir, name) }
	return a.write(name+".kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
users: [{name: e2e, user: {client-certificate: %q, client-key: %q}}]
`, serverAddress, file(authorityFile), file(name+".crt"), file(name+".key")))
}

package access

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
	"time"
)

// lifetime is longer than any local cluster should live.
const lifetime = 365 * 24 * time.Hour

// Authority signs the certificates of one control plane. A cluster has an
// authority of its own, so a client that reaches the wrong cluster (a port that
// was taken over, say) fails its handshake instead of changing foreign objects.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// Pair is a certificate with its private key, both PEM encoded.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Identity is what a client certificate says: the user and its groups.
type Identity struct {
	User   string
	Groups []string
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := blank(pkix.Name{CommonName: name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the authority's certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate back: %w", err)
	}
	return &Authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// Certificate is the PEM encoded certificate that clients trust.
func (a *Authority) Certificate() []byte { return a.pem }

// Server makes the certificate of a server on this machine. It is also valid
// for a client, because etcd's peers use one certificate for both directions.
func (a *Authority) Server() (Pair, error) {
	template := blank(pkix.Name{CommonName: "localhost"})
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"apiextensions-apiserver.kube-system.svc"} // as an APIService names it
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// Client makes a client certificate. The API server takes the user from the
// common name and the groups from the organizations.
func (a *Authority) Client(id Identity) (Pair, error) {
	template := blank(pkix.Name{CommonName: id.User, Organization: id.Groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("create the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: encode("CERTIFICATE", der), Key: private}, nil
}

// SigningKey makes the key pair with which service account tokens are signed
// and verified; the Certificate field holds the public key.
func SigningKey() (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("encode a public key: %w", err)
	}
	return Pair{Certificate: encode("PUBLIC KEY", public), Key: private}, nil
}

func blank(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		// x509 asks for a serial number that does not repeat under one authority.
		SerialNumber: new(big.Int).SetInt64(now.UnixNano()),
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // clocks may be set back a little
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a private key: %w", err)
	}
	return key, nil
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

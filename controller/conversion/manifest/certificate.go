package manifest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lead is how long before now a certificate becomes valid, as clocks differ.
const lead = time.Hour

// Certificate makes a certificate for these host names and IP addresses, in PEM, with its key. It is signed by an authority that is made
// for it and whose key is not kept: to renew the certificate is to make both again. API servers are to trust the authority: it is the
// caBundle of a CRD.
func Certificate(now time.Time, lasts time.Duration, hosts ...string) (authority, crt, key []byte, err error) {
	if len(hosts) == 0 {
		return nil, nil, nil, errors.New("make a certificate: it has no host name")
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "conversion authority of " + hosts[0]}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: hosts[0]}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	rootKey, rootText, err := sign(root, root, nil, now, lasts)
	if err != nil {
		return nil, nil, nil, err
	}
	leafKey, leafText, err := sign(leaf, root, rootKey, now, lasts)
	if err != nil {
		return nil, nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("write the key of a certificate: %w", err)
	}
	return rootText, leafText, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// sign signs a certificate with the key of its parent, or with its own if there is none.
func sign(c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, now time.Time, lasts time.Duration) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	const serialBits = 127
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)); err != nil {
		return nil, nil, fmt.Errorf("draw a serial number: %w", err)
	}
	c.NotBefore, c.NotAfter = now.Add(-lead), now.Add(lasts)
	signer := parentKey
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
)

// sshKey returns the data of a Secret of type kubernetes.io/ssh-auth: a new ECDSA P-521 key pair, the private key as PEM and
// the public key as a line of authorized_keys.
func sshKey() (map[string]any, error) {
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate an ECDSA key: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write the private key: %w", err)
	}
	public, err := key.PublicKey.ECDH()
	if err != nil {
		return nil, fmt.Errorf("write the public key: %w", err)
	}
	return map[string]any{"data": map[string][]byte{
		"ssh-privatekey": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"ssh-publickey":  authorizedKey(public.Bytes()),
	}}, nil
}

// authorizedKey returns the line for a public key, given as an uncompressed point (RFC 5656, section 3.1).
func authorizedKey(point []byte) []byte {
	const name, curve = "ecdsa-sha2-nistp521", "nistp521"
	var blob []byte
	for _, part := range [][]byte{[]byte(name), []byte(curve), point} {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(part))), part...)
	}
	return []byte(name + " " + base64.StdEncoding.EncodeToString(blob) + "\n")
}

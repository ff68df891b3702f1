package operator

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each Secret holds a new ECDSA P-521 key, in the two forms that ssh and sshd read.
func TestSSHKey(t *testing.T) {
	fields, err := sshKey()
	if err != nil {
		t.Fatal(err)
	}
	data := fields["data"].(map[string][]byte)
	block, rest := pem.Decode(data["ssh-privatekey"])
	if block == nil || block.Type != "EC PRIVATE KEY" || len(rest) > 0 {
		t.Fatalf("not one PEM block of an EC PRIVATE KEY")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil || key.Curve != elliptic.P521() {
		t.Fatal(err)
	}
	words := strings.Fields(string(data["ssh-publickey"]))
	if len(words) != 2 || words[0] != "ecdsa-sha2-nistp521" || !bytes.HasSuffix(data["ssh-publickey"], []byte("\n")) {
		t.Fatalf("%d words", len(words))
	}
	blob, err := base64.StdEncoding.DecodeString(words[1])
	public, _ := key.PublicKey.ECDH()
	if err != nil || !bytes.HasSuffix(blob, public.Bytes()) || !bytes.HasPrefix(blob, []byte("\x00\x00\x00\x13ecdsa-sha2-nistp521\x00\x00\x00\x08nistp521\x00\x00\x00\x85\x04")) {
		t.Errorf("the public key is not that of the private key: %v", err)
	}
	again, err := sshKey()
	if err != nil || bytes.Equal(again["data"].(map[string][]byte)["ssh-privatekey"], data["ssh-privatekey"]) {
		t.Errorf("the same key twice: %v", err)
	}

	tool, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen to ask")
	}
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, data["ssh-privatekey"], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "-y", "-f", file).Output(); err != nil || strings.Fields(string(out))[1] != words[1] {
		t.Errorf("ssh-keygen reads %q, %v", out, err)
	}
}

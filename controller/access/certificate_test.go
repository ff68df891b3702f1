package access

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/util/cert"
)

// write puts a new certificate for a host into a folder.
func write(t *testing.T, folder, host string) (crt, key []byte) {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, CertFile, crt)
	put(t, folder, KeyFile, key)
	return crt, key
}

func put(t *testing.T, folder, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shown returns the host of the certificate that a client is shown.
func shown(t *testing.T, c *tls.Config) string {
	t.Helper()
	got, err := c.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	return strings.Join(got.Leaf.DNSNames, " ")
}

func TestCertificateIsReadAgain(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	core, lines := observer.New(zap.WarnLevel)
	write(t, folder, "one.example.com")
	c, err := TLS(folder, "unused", func() time.Time { return now }, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	step := func(want, when string) {
		t.Helper()
		if got := shown(t, c); got != want {
			t.Errorf("%s the certificate is for %s, want %s", when, got, want)
		}
	}
	step("one.example.com", "at first")
	crt, key := write(t, folder, "two.example.com")
	step("one.example.com", "a moment after the change")
	now = now.Add(lookEvery)
	step("two.example.com", "a while after the change")
	write(t, folder, "three.example.com")
	put(t, folder, KeyFile, key) // half of what is to be written
	now = now.Add(lookEvery)
	step("two.example.com", "while key and certificate do not go together,")
	if err := os.Remove(filepath.Join(folder, CertFile)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(lookEvery)
	step("two.example.com", "while the file is gone")
	if lines.Len() != 1 {
		t.Errorf("%d log lines: %v", lines.Len(), lines.All())
	}
	write(t, folder, "four.example.com")
	now = now.Add(lookEvery)
	step("four.example.com", "when both are there again")
	put(t, folder, CertFile, crt)
	put(t, folder, KeyFile, key)
	now = now.Add(lookEvery)
	step("two.example.com", "when it is taken back")
}

func TestWrongCertificates(t *testing.T) {
	crt, key := write(t, t.TempDir(), "a")
	_, others := write(t, t.TempDir(), "b")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, folder string)
		says  string
	}{
		"no certificate": {func(t *testing.T, folder string) { _ = os.Remove(filepath.Join(folder, CertFile)) }, "read the certificate: "},
		"no key":         {func(t *testing.T, folder string) { _ = os.Remove(filepath.Join(folder, KeyFile)) }, "read the key: "},
		"nonsense":       {func(t *testing.T, folder string) { put(t, folder, CertFile, []byte("x")) }, "take up a certificate and its key: "},
		"empty":          {func(t *testing.T, folder string) { put(t, folder, KeyFile, nil) }, "take up a certificate and its key: "},
		"another's key":  {func(t *testing.T, folder string) { put(t, folder, KeyFile, others) }, "take up a certificate and its key: "},
		"no such folder": {func(t *testing.T, folder string) { _ = os.RemoveAll(folder) }, "read the certificate: "},
		"folders in place": {func(t *testing.T, folder string) {
			_ = os.Remove(filepath.Join(folder, KeyFile))
			_ = os.Mkdir(filepath.Join(folder, KeyFile), 0o700)
		}, "read the key: "},
	} {
		folder := filepath.Join(t.TempDir(), "certificates")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, folder, CertFile, crt)
		put(t, folder, KeyFile, key)
		c.spoil(t, folder)
		if _, err := TLS(folder, "unused", time.Now, zap.NewNop()); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// TestMadeInMemory: a process that runs for more than a year still has a certificate that is valid.
func TestMadeInMemory(t *testing.T) {
	now := time.Now()
	c, err := TLS("", "operator-0", func() time.Time { return now }, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	first, _ := c.GetCertificate(nil)
	now = now.Add(time.Hour)
	if second, _ := c.GetCertificate(nil); second != first || second.Leaf.VerifyHostname("operator-0") != nil {
		t.Errorf("after an hour another certificate, or one for another host: %v", second.Leaf.DNSNames)
	}
	now = first.Leaf.NotAfter.Add(-renewBefore)
	second, _ := c.GetCertificate(nil)
	if second == first {
		t.Error("a month before its end the certificate is still the first one")
	}
	if until, err := NotAfter(c); err != nil || !until.Equal(second.Leaf.NotAfter) {
		t.Errorf("it ends %v, %v", until, err)
	}
	if c.MinVersion < tls.VersionTLS12 {
		t.Errorf("TLS %x", c.MinVersion)
	}
}

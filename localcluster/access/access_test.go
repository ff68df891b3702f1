package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func authority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func pool(a *Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.Certificate())
	return p
}

func pair(t *testing.T, p Pair, err error) tls.Certificate {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// TestHandshake lets a client and a server meet as kube-apiserver and its
// clients do: each proves itself by a certificate of the authority.
func TestHandshake(t *testing.T) {
	ours, foreign := authority(t), authority(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = io.WriteString(w, subject.CommonName+" of "+strings.Join(subject.Organization, "+"))
	}))
	p, err := ours.Server()
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair(t, p, err)}, ClientCAs: pool(ours), ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()

	for name, test := range map[string]struct {
		trusted, signer *Authority
		ok              bool
	}{
		"ours":             {ours, ours, true},
		"foreign server":   {foreign, ours, false},
		"foreign identity": {ours, foreign, false},
	} {
		p, err := test.signer.Client(Identity{User: "alice", Groups: []string{"a", "b"}})
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(test.trusted), Certificates: []tls.Certificate{pair(t, p, err)}}}
		response, err := (&http.Client{Transport: transport}).Get(server.URL)
		if (err == nil) != test.ok {
			t.Errorf("%s: error %v, want success %v", name, err, test.ok)
		}
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if string(body) != "alice of a+b" {
				t.Errorf("%s: the server saw %q", name, body)
			}
		}
		transport.CloseIdleConnections()
	}
}

func TestKubeconfigIsSelfContained(t *testing.T) {
	a := authority(t)
	p, err := a.Client(Identity{User: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	content, err := a.Kubeconfig("https://127.0.0.1:1", p, "")
	if err != nil {
		t.Fatal(err)
	}
	var read kubeconfig
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	if read.CurrentContext != "stoic" || read.Contexts[0].Name != "stoic" {
		t.Errorf("context %q, want stoic", read.CurrentContext)
	}
	if read.Clusters[0].Cluster.Server != "https://127.0.0.1:1" {
		t.Errorf("server %q", read.Clusters[0].Cluster.Server)
	}
	if _, err := tls.X509KeyPair(read.Users[0].User.Certificate, read.Users[0].User.Key); err != nil {
		t.Errorf("the user's certificate and key do not fit: %v", err)
	}
	if read.Users[0].User.Plugin != nil {
		t.Error("the user's requests go through a plugin that nobody asked for")
	}
	if content, err = a.Kubeconfig("https://127.0.0.1:1", p, "plug"); err != nil || !bytes.Contains(content, []byte(`"name": "plug"`)) {
		t.Errorf("the plugin is not named: %v\n%s", err, content)
	}
}

package program

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"stoic/controller"
	"stoic/controller/access"
	"stoic/controller/conversion"
	"stoic/convert/versions"
)

// versioned returns a program whose kind has two versions.
func versioned() Program {
	p := gadgets()
	p.Watches[0].Versions = &versions.Kind{Group: "test.example.com", Name: "Gadget", Hub: "v1", Annotation: "test.example.com/conversion",
		Versions: []versions.Version{{Name: "v1beta1", Moves: []versions.Move{{Here: "spec.mode", Hub: "spec.type"}}}}}
	return p
}

// certificates returns a folder with certificates for localhost, and a client that trusts them.
func certificates(t *testing.T) (folder string, client *http.Client) {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for name, text := range map[string][]byte{access.CertFile: crt, access.KeyFile: key} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(crt) {
		t.Fatal("no certificate")
	}
	return folder, &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}}
}

const gadgetReview = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"test.example.com/v1",` +
	`"objects":[{"apiVersion":"test.example.com/v1beta1","kind":"Gadget","metadata":{"name":"a"},"spec":{"mode":7}}]}}`

// converts waits until an object is converted at an address.
func converts(t *testing.T, client *http.Client, address string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(got, `"spec":{"type":7}`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not converted: %s", got)
		}
		answer, err := client.Post("https://"+address+conversion.Path, "application/json", strings.NewReader(gadgetReview))
		if err != nil {
			got = err.Error() // it does not listen yet
			continue
		}
		body, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		got = answer.Status + " " + string(body)
	}
}

// TestConversionNeedsNoAPIServer: objects are converted while nothing can be read. Otherwise nothing could ever be read: the API server
// needs the conversion for that.
func TestConversionNeedsNoAPIServer(t *testing.T) {
	folder, client := certificates(t)
	p := versioned()
	ctx, stop := context.WithCancel(t.Context())
	address, probes, ended := free(t), free(t), make(chan error, 1)
	process := Process{Registry: NewRegistry(), Version: "v1", UserAgent: "gadget-operator", Metrics: MetricsFlags{Address: "0"}, Probes: probes,
		Conversion: ConversionFlags{Address: address, CertPath: folder}, Converts: converted(p.Watches),
		Controller: controller.Options{Name: "gadget-operator", Config: &rest.Config{Host: "http://" + free(t)}, Watches: p.Watches, Workers: 1, EventQPS: 5, Log: zap.NewNop()}}
	go func() { ended <- process.Run(ctx) }()
	converts(t, client, address)
	answer, err := http.Get("http://" + probes + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready without an API server: %s", answer.Status)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(process.Registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if err := testutil.GatherAndCompare(process.Registry, strings.NewReader(fmt.Sprintf(`
# HELP gadget_operator_conversion_requests_total Requests to the conversion webhook, by result: converted, failed (a review that was answered with Failure), refused (no review that could be answered).
# TYPE gadget_operator_conversion_requests_total counter
gadget_operator_conversion_requests_total{result="converted"} %d
`, 1)), "gadget_operator_conversion_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestWrongConversionFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for args, says := range map[string]string{
		"--conversion-bind-address=":           "--conversion-bind-address: found",
		"--conversion-bind-address=:9443":      "--conversion-cert-path: not found, must be given",
		"--conversion-cert-path=/certificates": "--conversion-cert-path: found without",
		"--conversion-only":                    "--conversion-only: found without",
		"--conversion-only --metrics-secure --conversion-bind-address=:0 --conversion-cert-path=/c": "--metrics-secure: found with --conversion-only",
		"--conversion-bind-address=127.0.0.1:0 --conversion-cert-path=/c":                           "no API server",
	} {
		var out, errOut bytes.Buffer
		if code := versioned().Main(append([]string{"gadget-operator"}, strings.Fields(args)...), &out, &errOut); code != 2 || !strings.Contains(errOut.String(), says) {
			t.Errorf("%q: code %d, %s, want %s", args, code, errOut.String(), says)
		}
	}
	var out, errOut bytes.Buffer
	code := versioned().Main([]string{"gadget-operator", "--conversion-only", "--conversion-bind-address=127.0.0.1:0", "--conversion-cert-path=/no/such", "--metrics-bind-address=0"}, &out, &errOut)
	if code != 1 || !strings.Contains(errOut.String(), "--conversion-cert-path: read the certificate: ") {
		t.Errorf("without a certificate: code %d, %s", code, errOut.String())
	}
	if out, _, _ := called("--help"); strings.Contains(out, "conversion") {
		t.Errorf("a program whose kinds have one version offers to convert: %s", out)
	}
}

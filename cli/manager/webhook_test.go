package manager

import (
	"strings"
	"testing"
)

// TestWebhookFlags checks flags only; package program and test/integration test the webhook itself.
func TestWebhookFlags(t *testing.T) {
	for args, test := range map[string]struct {
		code int
		says string
	}{
		"":                             {2, "--conversion-cert-path: not found, must be given"},
		"--conversion-bind-address=0":  {2, `--conversion-bind-address: found "0", must be an address`},
		"--conversion-bind-address=":   {2, `--conversion-bind-address: found ""`},
		"--health-probe-bind-address=": {2, `--health-probe-bind-address: found ""`},
		"--metrics-bind-address= --conversion-cert-path=/c":                                              {2, `--metrics-bind-address: found ""`},
		"--zap-log-level=loud --conversion-cert-path=/c":                                                 {2, "--zap-log-level: found"},
		"--conversion-cert-path=/no/such --conversion-bind-address=127.0.0.1:0 --metrics-bind-address=0": {1, "--conversion-cert-path: read the certificate: open /no/such/tls.crt"},
		"now": {2, `unknown command "now"`},
	} {
		_, errOut, code := called(append([]string{"stoic", "webhook"}, strings.Fields(args)...)...)
		if code != test.code || !strings.Contains(errOut, test.says) {
			t.Errorf("%q: code %d, %s, want %d %s", args, code, errOut, test.code, test.says)
		}
	}
	_, errOut, code := called("stoic", "controller", "--conversion-bind-address=:9443")
	if code != 2 || !strings.Contains(errOut, "--conversion-cert-path: not found") {
		t.Errorf("controller: code %d, %s", code, errOut)
	}
}

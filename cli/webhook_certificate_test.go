package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const webhookCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\nspec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: ns, name: gadget-conversion}}}}}\n"

// TestWebhookCertificate: what API servers are to trust has signed what the webhook serves with, for the name of its Service.
func TestWebhookCertificate(t *testing.T) {
	var out bytes.Buffer
	other := "---\napiVersion: v1\nkind: Service\nmetadata: {name: gadget-conversion}\nspec: {x: 9007199254740993}\n---\n# nothing\n---\n"
	f := certificateFlags{file: "-", days: 30}
	now := time.Now()
	if err := f.run(strings.NewReader(webhookCRD+other+strings.Replace(webhookCRD, "gadgets", "widgets", 1)), &out, now); err != nil {
		t.Fatal(err)
	}
	all, err := manifestsOf(&out)
	if err != nil || len(all) != 4 || all[1]["kind"] != "Service" || all[3]["kind"] != "Secret" {
		t.Fatalf("%v, %v", err, all)
	}
	if spec := all[1]["spec"].(map[string]any); spec["x"] != int64(9007199254740993) {
		t.Errorf("a large integer is %v", spec["x"])
	}
	data := all[3]["data"].(map[string]any)
	pair, err := tls.X509KeyPair(decoded(t, data["tls.crt"]), decoded(t, data["tls.key"]))
	if err != nil {
		t.Fatal(err)
	}
	if meta := all[3]["metadata"].(map[string]any); meta["name"] != "gadget-conversion" || meta["namespace"] != "ns" {
		t.Errorf("%v", meta)
	}
	for _, i := range []int{0, 2} {
		client, _ := conversionOf(all[i])
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(decoded(t, client["caBundle"])) {
			t.Fatal("no authority")
		}
		for at, valid := range map[time.Duration]bool{0: true, 29 * 24 * time.Hour: true, 31 * 24 * time.Hour: false} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "gadget-conversion.ns.svc", CurrentTime: now.Add(at)})
			if (err == nil) != valid {
				t.Errorf("after %v: %v", at, err)
			}
		}
	}
}

func decoded(t *testing.T, raw any) []byte {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(raw.(string))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWrongWebhookCertificates(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "crds.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for says, args := range map[string][]string{
		"--filename: not found":     {},
		"--filename: open /no/such": {"-f", "/no/such"},
		"--days: found 0":           {"-f", file(webhookCRD), "--days=0"},
		"--days: found 99999":       {"-f", file(webhookCRD), "--days=99999"},
		"no CRD names a Service":    {"-f", file("kind: CustomResourceDefinition\nspec: {conversion: 7}\n---\nkind: List\n")},
		"the CRDs name two Services, ns/gadget-conversion and ns/other": {"-f", file(webhookCRD + "---\n" + strings.Replace(webhookCRD, "gadget-conversion", "other", 1))},
		"document 1: ": {"-f", file("- a\n")},
		"document 2: ": {"-f", file(webhookCRD + "---\na: [\n")},
	} {
		_, errOut, code := called(append([]string{"stoic", "webhook", "certificate"}, args...)...)
		if want := map[bool]int{true: 2, false: 1}[strings.HasPrefix(says, "--")]; code != want || !strings.Contains(errOut, says) {
			t.Errorf("%v: code %d, %s, want %s", args, code, errOut, says)
		}
	}
}

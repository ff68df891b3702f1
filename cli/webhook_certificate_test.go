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

// TestWebhookCertificate: the authority in the CRDs has signed the certificate of the webhook, for the name of its Service.
func TestWebhookCertificate(t *testing.T) {
	var out bytes.Buffer
	other := "---\napiVersion: v1\nkind: Service\nmetadata: {name: gadget-conversion}\nspec: {x: 9007199254740993}\n---\n# nothing\n---\n"
	f := certificateFlags{file: "-", days: 30}
	now := time.Now()
	if err := f.run(t.Context(), strings.NewReader(webhookCRD+other+strings.Replace(webhookCRD, "gadgets", "widgets", 1)), &out, now); err != nil {
		t.Fatal(err)
	}
	all, err := manifestsOf(out.Bytes())
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

// TestCertificateOfService: only the Secret is printed, with the authority that signed its certificate.
func TestCertificateOfService(t *testing.T) {
	out, errOut, code := called("stoic", "webhook", "certificate", "--service=ns/gadget-conversion", "--secret=other")
	if code != 0 {
		t.Fatalf("code %d, %s", code, errOut)
	}
	all, err := manifestsOf([]byte(out))
	if err != nil || len(all) != 1 || all[0]["kind"] != "Secret" {
		t.Fatalf("%v, %v", err, all)
	}
	if meta := all[0]["metadata"].(map[string]any); meta["name"] != "other" || meta["namespace"] != "ns" {
		t.Errorf("%v", meta)
	}
	data := all[0]["data"].(map[string]any)
	pair, err := tls.X509KeyPair(decoded(t, data["tls.crt"]), decoded(t, data["tls.key"]))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(decoded(t, data["ca.crt"])) {
		t.Fatal("no authority")
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "gadget-conversion.ns.svc"}); err != nil {
		t.Error(err)
	}
}

// TestCertificateOfAList: the items of a list are read, and printed one by one.
func TestCertificateOfAList(t *testing.T) {
	var list strings.Builder
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n- kind: Service\n-\n")
	for line := range strings.Lines(webhookCRD) {
		list.WriteString("  " + line)
	}
	var out, talk bytes.Buffer
	if code := Main([]string{"stoic", "webhook", "certificate", "-f", "-"}, strings.NewReader(list.String()), &out, &talk); code != 0 {
		t.Fatalf("code %d, %s", code, &talk)
	}
	all, err := manifestsOf(out.Bytes())
	if err != nil || len(all) != 3 || all[2]["kind"] != "Secret" {
		t.Fatalf("%v, %v", err, all)
	}
	if client, _ := conversionOf(all[1]); client["caBundle"] == nil {
		t.Errorf("%v", all[1])
	}
}

// TestCRDsApart: the CRDs, which must be applied last, are in a file of their own, which contains no private key.
func TestCRDsApart(t *testing.T) {
	dir := t.TempDir()
	in, crds := filepath.Join(dir, "in.yaml"), filepath.Join(dir, "crds.yaml")
	bare := "---\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n"
	if err := os.WriteFile(in, []byte(webhookCRD+"---\nkind: Service\nmetadata: {name: a}\n"+bare), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := called("stoic", "webhook", "certificate", "-f", in, "--crds", crds)
	if code != 0 {
		t.Fatalf("code %d, %s", code, errOut)
	}
	text, err := os.ReadFile(crds)
	if err != nil {
		t.Fatal(err)
	}
	for printed, want := range map[string]string{out: "Service Secret", string(text): "CustomResourceDefinition CustomResourceDefinition"} {
		all, err := manifestsOf([]byte(printed))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, m := range all {
			kinds = append(kinds, m["kind"].(string))
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if !strings.Contains(string(text), "caBundle: ") || strings.Contains(string(text), "tls.key") {
		t.Errorf("CRDs:\n%s", text)
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
		"--filename: not found":                                         {},
		"--filename: open /no/such":                                     {"-f", "/no/such"},
		"--service: found with --filename":                              {"-f", file(webhookCRD), "--service=a/b"},
		"--service: found \"a\"":                                        {"--service=a"},
		"--service: found \"a/b/c\"":                                    {"--service=a/b/c"},
		"--service: found \"/b\"":                                       {"--service=/b"},
		"--service: found \"A/b\"":                                      {"--service=A/b"},
		"--service: found \"a/b.c\"":                                    {"--service=a/b.c"},
		"--secret: found \"S_\"":                                        {"--service=a/b", "--secret=S_"},
		"line 2: found a list, must be an object":                       {"-f", file("# c\n[1]\n")},
		"line 1: found string \"text\", must be":                        {"-f", file("text\n")},
		"line 3: found number 5, must be an object":                     {"-f", file("kind: List\nitems:\n- 5\n")},
		"line 1: found a document that is not YAML: ":                   {"-f", file("a: b: c\n")},
		"line 2: found a further document":                              {"-f", file("a: b\n...\n" + webhookCRD)},
		"--filename: read ":                                             {"-f", t.TempDir()},
		"--crds: found with --service":                                  {"--service=a/b", "--crds=c"},
		"--crds: open /no/such":                                         {"-f", file(webhookCRD), "--crds=/no/such/crds.yaml"},
		"--days: found 0":                                               {"-f", file(webhookCRD), "--days=0"},
		"--days: found 99999":                                           {"-f", file(webhookCRD), "--days=99999"},
		"no CRD names a Service":                                        {"-f", file("kind: CustomResourceDefinition\nspec: {conversion: 7}\n---\nkind: List\n")},
		"the CRDs name two Services, ns/gadget-conversion and ns/other": {"-f", file(webhookCRD + "---\n" + strings.Replace(webhookCRD, "gadget-conversion", "other", 1))},
		"line 1: found a list, must be":                                 {"-f", file("- a\n")},
		"line 6: found a document that is not YAML":                     {"-f", file(webhookCRD + "---\na: [\n")},
	} {
		_, errOut, code := called(append([]string{"stoic", "webhook", "certificate"}, args...)...)
		if want := map[bool]int{true: 2, false: 1}[strings.HasPrefix(says, "--")]; code != want || !strings.Contains(errOut, says) {
			t.Errorf("%v: code %d, %s, want %s", args, code, errOut, says)
		}
	}
}

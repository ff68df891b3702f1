package certmanager

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/operator"
)

const (
	tfjobs = "tfjobs.kubeflow.org"
	// conversionName is the name of the Certificate, of its Secret and of the Service.
	conversionName = "training-operator-conversion"
	metricsName    = "training-operator-metrics"
)

// chart is a release of ours whose certificates are cert-manager's.
type chart struct {
	*rig
	whole    *testing.T // the operator runs until it ends
	address  string     // where the webhook listens
	operator *deployed
}

// viaChart runs the commands of docs/versions.md for Helm and cert-manager: certificates are issued, the CRDs get the authority,
// and jobs are converted, also after certificates are renewed and CRDs applied again.
func viaChart(t *testing.T, r *rig) {
	c := &chart{rig: r, whole: t}
	c.copyChart(t)
	c.run(t, `helm install training-operator deploy/chart -n kubeflow --create-namespace --wait --timeout=3m \
  --set metrics.secure=true,metrics.certificate.certManager.enabled=true \
  --set-json 'metrics.readers=[{"namespace":"kubeflow","name":"prometheus"}]'
kubectl -n kubeflow create serviceaccount prometheus`)
	enable, kinds, back := commandsOfPage(t)
	c.run(t, enable)
	c.issued(t, conversionName, nil)
	c.start(t)
	if got := c.kubectl(t, nil, "get", "crd", tfjobs, "-o", "jsonpath={.spec.conversion.strategy} {.spec.versions[*].name}"); got != "None v1" {
		t.Errorf("the webhook is there, and the CRD has %s", got)
	}
	c.run(t, kinds)
	c.awaitInjected(t, c.issued(t, conversionName, nil), 1)
	t.Run("jobs are converted", c.converts)
	t.Run("metrics", c.metricsVerify)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{ // one after the other
		{"renewed", func(t *testing.T) { c.renewed(t, func() { c.renew(t, conversionName) }, 2) }},
		{"Secret deleted", func(t *testing.T) {
			c.renewed(t, func() { c.kubectl(t, nil, "delete", "secret", "-n", namespace, conversionName) }, 3)
		}},
		{"applied again", c.appliedAgain},
		{"replaced", c.replaced},
		{"back", func(t *testing.T) { c.wayBack(t, back) }},
	} {
		if !t.Run(step.name, step.run) {
			break
		}
	}
	c.noWarnings(t)
}

// copyChart copies the chart to where commands run. An API server reaches a process beside it by a Service that is an alias of localhost.
func (c *chart) copyChart(t *testing.T) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(c.dir, "deploy/chart"), os.DirFS(filepath.Join(root, "deploy/chart"))); err != nil {
		t.Fatal(err)
	}
	c.edit(t, "conversion-service.yaml", "\nspec:\n", "\nspec:\n  type: ExternalName\n  externalName: localhost\n")
}

// edit edits a template of the copy.
func (c *chart) edit(t *testing.T, template, from, to string) {
	t.Helper()
	path := filepath.Join(c.dir, "deploy/chart/templates", template)
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), from) != 1 {
		t.Fatalf("%s: %v, %d times %q", template, err, strings.Count(string(text), from), from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the operator as it is deployed, and makes CRDs name the port of its webhook.
func (c *chart) start(t *testing.T) {
	t.Helper()
	var err error
	if c.address, err = operator.Address(); err != nil { // it is reserved for a minute
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(c.address)
	if err != nil {
		t.Fatal(err)
	}
	c.operator = c.deploy(c.whole, c.address)
	c.edit(t, "crds.yaml", "          port: 443\n", "          port: "+port+"\n")
}

// commandsOfPage returns the commands for Helm and cert-manager in docs/versions.md, each of which upgrades the release: for the
// webhook, for the CRDs, and for the way back.
func commandsOfPage(t *testing.T) (enable, kinds, back string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## With Helm and cert-manager\n")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	if block == nil {
		t.Fatal("docs/versions.md has no commands for Helm and cert-manager")
	}
	parts := strings.SplitAfterN(block[1], "\n", 3)
	if len(parts) != 3 {
		t.Fatalf("docs/versions.md has the commands %q", block[1])
	}
	return parts[0], parts[1], parts[2]
}

func (c *chart) jobs(version string) (get func(context.Context, string) (*unstructured.Unstructured, error)) {
	jobs := c.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "kubeflow.org", Version: version, Resource: "tfjobs"}).Namespace(namespace)
	return func(ctx context.Context, name string) (*unstructured.Unstructured, error) {
		return jobs.Get(ctx, name, metav1.GetOptions{})
	}
}

// trusted returns the caBundle of the CRD, and how many certificates it has.
func (c *chart) trusted(t *testing.T) (bundle []byte, certificates int) {
	t.Helper()
	text := c.kubectl(t, nil, "get", "crd", tfjobs, "-o", "go-template={{with .spec.conversion.webhook}}{{with .clientConfig.caBundle}}{{. | base64decode}}{{end}}{{end}}")
	for rest := []byte(text); ; certificates++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return []byte(text), certificates
		}
	}
}

// awaitInjected waits until the CRD trusts the authority of a Secret, and so many in total.
func (c *chart) awaitInjected(t *testing.T, secret *corev1.Secret, want int) {
	t.Helper()
	await(t, "the authority to be in the CRD", func() (bool, string) {
		bundle, n := c.trusted(t)
		return n == want && bytes.Contains(bundle, bytes.TrimSpace(secret.Data[corev1.ServiceAccountRootCAKey])), fmt.Sprintf("%d certificates\n%s", n, c.issuer.Tail())
	})
}

// converts: a job that is written in an old version is read in the new one, and served.
func (c *chart) converts(t *testing.T) {
	const job = `apiVersion: kubeflow.org/v1beta2
kind: TFJob
metadata: {name: old, namespace: kubeflow}
spec:
  backoffLimit: 3
  tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: x}]}}}}
`
	await(t, "a job of v1beta2 to be taken", func() (bool, string) { // the API server serves the version a moment after the CRD has it
		out, err := operator.Kubectl(t.Context(), c.cluster.Kubeconfig(), []byte(job), "apply", "-f", "-")
		return err == nil, out
	})
	await(t, "the job to be served as v1", func() (bool, string) {
		u, err := c.jobs("v1")(t.Context(), "old")
		if err != nil {
			return false, err.Error()
		}
		limit, _, _ := unstructured.NestedInt64(u.Object, "spec", "runPolicy", "backoffLimit")
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return limit == 3 && len(conditions) > 0, fmt.Sprint(u.Object)
	})
	if u, err := c.jobs("v1beta2")(t.Context(), "old"); err != nil || u.Object["spec"].(map[string]any)["backoffLimit"] != int64(3) {
		t.Errorf("read as v1beta2: %v, %v", u, err)
	}
	out := c.kubectl(t, nil, "get", "mpijobs.v2beta1.kubeflow.org", "-A")
	if !strings.Contains(out, "No resources") {
		t.Errorf("MPIJobs of v2beta1: %s", out)
	}
}

// metricsVerify: a client that trusts the authority in the Secret can read the metrics under the Service's name.
func (c *chart) metricsVerify(t *testing.T) {
	text, err := c.scrape(t, c.operator, c.issued(t, metricsName, nil).Data[corev1.ServiceAccountRootCAKey], "training-operator.kubeflow.svc", "prometheus")
	if err != nil || !strings.Contains(text, "training_operator_conversion_certificate_not_after_timestamp_seconds ") {
		t.Errorf("metrics: %v\n%.300s", err, text)
	}
}

// converting reads a job in its old version continuously. The returned function ends that, and returns the failures.
func (c *chart) converting(t *testing.T) (end func() (read int, failed []string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	read, failed, get := 0, []string(nil), c.jobs("v1beta2")
	group.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			if _, err := get(ctx, "old"); err != nil && ctx.Err() == nil {
				failed = append(failed, err.Error())
			} else {
				read++
			}
		}
	})
	return func() (int, []string) {
		stop()
		group.Wait()
		return read, failed
	}
}

// renewed: no read fails when the certificate is renewed, neither before the kubelet has updated the files nor afterwards.
// cert-manager keeps the former authority beside the new one.
func (c *chart) renewed(t *testing.T, renew func(), authorities int) {
	before := c.issued(t, conversionName, nil)
	end := c.converting(t)
	renew()
	after := c.issued(t, conversionName, before)
	c.awaitInjected(t, after, authorities)
	awaitServed(t, c.address, before)
	c.awaitRead(t)
	c.operator.volumes[conversionName].bring(t, after)
	awaitServed(t, c.address, after)
	c.awaitRead(t)
	if read, failed := end(); len(failed) > 0 || read == 0 {
		t.Errorf("%d conversions, and %d failed: %q", read, len(failed), failed[:min(3, len(failed))])
	}
	// API servers keep connections that were made with the former certificate: a new process has none.
	if err := c.operator.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	c.operator = c.deploy(c.whole, c.address)
	c.awaitRead(t)
}

// awaitRead waits until the job can be read in its old version.
func (c *chart) awaitRead(t *testing.T) {
	t.Helper()
	await(t, "the job to be read as v1beta2", func() (bool, string) {
		_, err := c.jobs("v1beta2")(t.Context(), "old")
		return err == nil, fmt.Sprint(err)
	})
}

// withoutCertManager calls do while cert-manager is paused.
func (c *chart) withoutCertManager(t *testing.T, do func()) {
	t.Helper()
	if err := c.issuer.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.issuer.Resume(); err != nil {
			t.Error(err)
		}
	}()
	do()
}

// manifest returns the CRD of the release.
func (c *chart) manifest(t *testing.T) []byte {
	t.Helper()
	for _, document := range strings.Split(c.run(t, "helm get manifest training-operator -n kubeflow"), "\n---\n") {
		if strings.Contains(document, "\n  name: "+tfjobs+"\n") {
			return []byte(document)
		}
	}
	t.Fatal("the release has no such CRD")
	return nil
}

// appliedAgain: a CRD that is applied again keeps the authority, which no manifest has.
func (c *chart) appliedAgain(t *testing.T) {
	manifest := c.manifest(t)
	want, _ := c.trusted(t)
	c.withoutCertManager(t, func() {
		for name, apply := range map[string]func(){
			"by kubectl apply":               func() { c.kubectl(t, manifest, "apply", "-f", "-") },
			"by kubectl apply --server-side": func() { c.kubectl(t, manifest, "apply", "--server-side", "--force-conflicts", "-f", "-") },
			"by helm upgrade": func() {
				c.run(t, "helm upgrade training-operator deploy/chart -n kubeflow --reset-then-reuse-values --wait --timeout=3m --force-conflicts")
			},
		} {
			apply()
			if got, _ := c.trusted(t); !bytes.Equal(want, got) {
				t.Errorf("%s: the CRD trusts %q", name, got)
			}
			c.awaitRead(t)
		}
	})
}

// replaced: a CRD that is replaced trusts no authority, and its jobs cannot be read in old versions, until cert-manager has
// injected the authority again. Stored objects can always be read in the stored version.
func (c *chart) replaced(t *testing.T) {
	manifest := c.manifest(t)
	c.withoutCertManager(t, func() {
		c.kubectl(t, manifest, "replace", "-f", "-")
		if bundle, _ := c.trusted(t); len(bundle) > 0 {
			t.Errorf("the CRD trusts %q", bundle)
		}
		await(t, "a job not to be read as v1beta2", func() (bool, string) {
			_, err := c.jobs("v1beta2")(t.Context(), "old")
			return err != nil && strings.Contains(err.Error(), "x509: certificate signed by unknown authority"), fmt.Sprint(err)
		})
		if _, err := c.jobs("v1")(t.Context(), "old"); err != nil {
			t.Errorf("read as v1: %v", err)
		}
	})
	c.awaitInjected(t, c.issued(t, conversionName, nil), 1)
	c.awaitRead(t)
}

// wayBack: afterwards there is no webhook, one version, and no certificate for the webhook; that of the metrics stays.
func (c *chart) wayBack(t *testing.T, commands string) {
	c.run(t, commands)
	crds := c.kubectl(t, nil, "get", "crd", tfjobs, "mpijobs.kubeflow.org", "-o", "jsonpath={range .items[*]}{.spec.conversion} {.spec.versions[*].name};{end}")
	if diff := cmp.Diff(`{"strategy":"None"} v1;{"strategy":"None"} v1;`, crds); diff != "" {
		t.Errorf("the CRDs (-want +got):\n%s", diff)
	}
	left := c.kubectl(t, nil, "get", "certificates,issuers", "-n", namespace, "-o", "name")
	if diff := cmp.Diff("certificate.cert-manager.io/"+metricsName+"\nissuer.cert-manager.io/training-operator\n", left); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	c.kubectl(t, nil, "get", "secret", "-n", namespace, conversionName) // docs/versions.md says that it stays
	if _, err := c.jobs("v1")(t.Context(), "old"); err != nil {
		t.Errorf("read as v1: %v", err)
	}
}

package crdtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"sigs.k8s.io/yaml"
)

// ofSeveralVersions returns the CRDs with the stored version, and what kustomize components add to them.
func ofSeveralVersions() map[string]string {
	return map[string]string{
		"../../deploy/crd/tfjobs.yaml":                              "../../deploy/components/versions/tfjobs.yaml",
		"../../deploy/crd/mpijobs.yaml":                             "../../deploy/components/mpijob-versions/mpijobs.yaml",
		"../../examples/operators/foobar/deploy/crd/foobars.yaml":   "../../examples/operators/foobar/deploy/versions/foobars.yaml",
		"../../examples/operators/crontab/deploy/crd/crontabs.yaml": "../../examples/operators/crontab/deploy/versions/crontabs.yaml",
	}
}

// patched returns a CRD with what a component adds to it.
func patched(t *testing.T, stored, patch string) *crdv1.CustomResourceDefinition {
	t.Helper()
	crd := new(crdv1.CustomResourceDefinition)
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	for file, into := range map[string]any{stored: crd, patch: &operations} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			t.Fatalf("parse %s: %v", file, err)
		}
	}
	for _, o := range operations {
		var err error
		switch o.Op + " " + o.Path {
		case "add /spec/versions/-":
			var v crdv1.CustomResourceDefinitionVersion
			err = json.Unmarshal(o.Value, &v)
			crd.Spec.Versions = append(crd.Spec.Versions, v)
		case "add /spec/conversion":
			err = json.Unmarshal(o.Value, &crd.Spec.Conversion)
		default:
			t.Errorf("%s: %s %s", patch, o.Op, o.Path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return crd
}

// TestVersionsAccepted: an API server accepts a CRD with several versions like one with a single version.
func TestVersionsAccepted(t *testing.T) {
	for stored, patch := range ofSeveralVersions() {
		crd := patched(t, stored, patch)
		crd.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
		crdv1.SetObjectDefaults_CustomResourceDefinition(crd)
		internal := new(apiextensions.CustomResourceDefinition)
		if err := crdv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
			t.Fatal(err)
		}
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal) {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

// resolver resolves every Service to one address.
type resolver struct{ address string }

func (r resolver) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: r.address}, nil
}

// TestWebhook connects the code by which API servers convert objects to the webhook of the training operator, with the certificate from
// stoic webhook certificate. Objects are well-formed and malformed.
func TestWebhook(t *testing.T) {
	stoic := filepath.Join(t.TempDir(), "stoic")
	if out, err := command("go", "build", "-o", stoic, "./cmd/stoic").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	crd := patched(t, installed, ofSeveralVersions()[installed])
	folder := certified(t, stoic, crd)
	address, probes := free(t), free(t)
	var log bytes.Buffer
	process := command(stoic, "webhook", "--conversion-bind-address", address, "--conversion-cert-path", folder, "--metrics-bind-address", "0", "--health-probe-bind-address", probes)
	process.Stdout, process.Stderr = &log, &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("%v: %s", err, log.String())
		}
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get("http://" + probes + "/readyz"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the webhook is not ready")
		}
	}
	wrapper := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, nil, nil)
	factory, err := conversion.NewCRConverterFactory(resolver{address}, wrapper)
	if err != nil {
		t.Fatal(err)
	}
	converter, _, err := factory.NewConverter(crd)
	if err != nil {
		t.Fatal(err)
	}
	specs := []string{`{"cleanPodPolicy":"All","backoffLimit":3}`, `{}`, `"text"`, `7`, `null`, `{"cleanPodPolicy":7,"runPolicy":"x"}`, `{"runPolicy":{"suspend":true,"cleanPodPolicy":""}}`,
		`[1,2]`, `{"ttlSecondsAfterFinished":1.5,"successPolicy":{"a":[null]}}`}
	versions := []string{"v1", "v1beta2", "v1beta1", "v1alpha2"}
	for _, from := range versions {
		for _, to := range versions {
			list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "kubeflow.org/" + from, "kind": "TFJobList"}}
			for i, spec := range specs {
				list.Items = append(list.Items, job(t, from, fmt.Sprintf("job-%d", i), spec))
			}
			there := converted(t, converter, list, to)
			back := converted(t, converter, there, from)
			for i := range back.Items {
				if got := text(t, back.Items[i]); got != text(t, list.Items[i]) || there.Items[i].GetAPIVersion() != "kubeflow.org/"+to {
					t.Errorf("%s by %s:\n%s\n%s\n%s", from, to, text(t, list.Items[i]), text(t, there.Items[i]), got)
				}
			}
		}
	}
}

func job(t *testing.T, version, name, spec string) unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	raw := `{"apiVersion":"kubeflow.org/` + version + `","kind":"TFJob","metadata":{"name":"` + name + `","namespace":"a","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z","annotations":{"a":"b"}},"spec":` + spec + `}`
	if err := u.UnmarshalJSON([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	return u
}

// text returns the JSON of an object without our annotation.
func text(t *testing.T, u unstructured.Unstructured) string {
	t.Helper()
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "training.kubeflow.org/conversion")
	raw, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func converted(t *testing.T, converter runtime.ObjectConvertor, list *unstructured.UnstructuredList, to string) *unstructured.UnstructuredList {
	t.Helper()
	result, err := converter.ConvertToVersion(list, schema.GroupVersion{Group: "kubeflow.org", Version: to})
	if err != nil {
		t.Fatalf("to %s: %v", to, err)
	}
	found, ok := result.(*unstructured.UnstructuredList)
	if !ok || len(found.Items) != len(list.Items) {
		t.Fatalf("to %s: %T", to, result)
	}
	return found
}

// certified puts the authority of a new certificate into a CRD, and returns a folder with the certificate.
func certified(t *testing.T, stoic string, crd *crdv1.CustomResourceDefinition) (folder string) {
	t.Helper()
	crd.TypeMeta.APIVersion, crd.TypeMeta.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	raw, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	make := command(stoic, "webhook", "certificate", "-f", "-")
	make.Stdin = bytes.NewReader(raw)
	out, err := make.Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(out), "\n---\n")
	if len(parts) != 2 {
		t.Fatalf("%d manifests", len(parts))
	}
	*crd = crdv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(parts[0]), crd); err != nil {
		t.Fatal(err)
	}
	var secret struct{ Data map[string][]byte }
	if err := yaml.Unmarshal([]byte(parts[1]), &secret); err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for name, text := range secret.Data {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// command returns a command that runs in the checkout.
func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = "../.."
	return c
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

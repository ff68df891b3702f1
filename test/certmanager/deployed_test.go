package certmanager

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/operator"
)

// volume is a Secret as a kubelet mounts it in a pod: a link changes all files together.
type volume struct{ dir string }

func (v volume) bring(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	data, next := filepath.Join(v.dir, "..data"), filepath.Join(v.dir, "..next")
	before, _ := os.Readlink(data) // the first time there is none
	content := ".." + secret.ResourceVersion
	errs := []error{os.MkdirAll(filepath.Join(v.dir, content), 0o700)}
	for name, text := range secret.Data {
		errs = append(errs, os.WriteFile(filepath.Join(v.dir, content, name), text, 0o600))
	}
	errs = append(errs, os.Symlink(content, next), os.Rename(next, data))
	for name := range secret.Data {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.dir, name)); !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
		}
	}
	if before != "" && before != content {
		errs = append(errs, os.RemoveAll(filepath.Join(v.dir, before)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal("bring a Secret:", err)
	}
}

// deployed is our operator with the command line of its Deployment, beside the control plane.
type deployed struct {
	*operator.Process
	volumes map[string]volume // by the name of the Secret
}

// deploy runs the operator as the service account of the Deployment. The webhook listens on a given address.
func (r *rig) deploy(t *testing.T, conversion string) *deployed {
	t.Helper()
	d, err := r.typed.AppsV1().Deployments(namespace).Get(t.Context(), "training-operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod, volumes, replace := d.Spec.Template.Spec, map[string]volume{}, []string{"$(MY_POD_NAMESPACE)", namespace, "=:9443", "=" + conversion}
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			continue
		}
		mount := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
		if mount < 0 {
			t.Fatalf("the volume %s is not mounted", v.Name)
		}
		folder, path := volume{t.TempDir()}, pod.Containers[0].VolumeMounts[mount].MountPath
		if !slices.ContainsFunc(pod.Containers[0].Args, func(arg string) bool { return strings.HasSuffix(arg, "="+path) }) {
			t.Errorf("no argument names %s", path)
		}
		volumes[v.Secret.SecretName], replace = folder, append(replace, "="+path, "="+folder.dir)
		folder.bring(t, r.issued(t, v.Secret.SecretName, nil))
	}
	command := []string{"env", "MY_POD_NAMESPACE=" + namespace, "MY_POD_NAME=deployed", r.stoic}
	for _, arg := range pod.Containers[0].Args {
		command = append(command, strings.NewReplacer(replace...).Replace(arg))
	}
	command = append(command, "--kubeconfig={kubeconfig}", "--metrics-bind-address={metrics}", "--health-probe-bind-address={probes}")
	return &deployed{operator.InTest(t, operator.Options{Command: command, Kubeconfig: r.cluster.UserKubeconfig("operator")}), volumes}
}

// awaitServed waits until an address is served with the certificate of a Secret.
func awaitServed(t *testing.T, address string, secret *corev1.Secret) {
	t.Helper()
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	if block == nil {
		t.Fatalf("the Secret %s has no certificate", secret.Name)
	}
	await(t, "the certificate of "+secret.Name+" to be served", func() (bool, string) {
		served, err := certificateOf(address)
		if err != nil {
			return false, err.Error()
		}
		return string(served.Raw) == string(block.Bytes), "serial number " + served.SerialNumber.Text(16)
	})
}

// certificateOf returns the certificate of an address, whoever has signed it.
func certificateOf(address string) (*x509.Certificate, error) {
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// scrape reads the metrics like a Prometheus that is configured with an authority and a name, with the token of a service account.
func (r *rig) scrape(t *testing.T, d *deployed, authority []byte, name, account string) (string, error) {
	t.Helper()
	token, err := r.typed.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		t.Fatalf("no authority: %q", authority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+d.MetricsAddress()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Status.Token)
	response, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return string(text), err
}

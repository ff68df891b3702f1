package certmanager

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

const (
	root      = "../.."
	namespace = "kubeflow"
	module    = "github.com/cert-manager/cert-manager"
	// patience bounds every wait for a condition; it is generous because machines are slow.
	patience = 90 * time.Second
)

// TestCertManager tries each way to install what needs cert-manager, each on a separate control plane.
func TestCertManager(t *testing.T) {
	if os.Getenv("STOIC_CERT_MANAGER") == "" {
		t.Skip("cert-manager takes minutes to compile: make certmanager")
	}
	p := programs{stoic: build(t, root, "."), helm: build(t, root+"/tools/helm", "helm.sh/helm/v4/cmd/helm"), certManager: build(t, root+"/tools/certmanager", ".")}
	t.Run("chart", func(t *testing.T) { viaChart(t, newRig(t, p)) })
	t.Run("overlay", func(t *testing.T) { viaOverlay(t, newRig(t, p)) })
}

// programs are the files of the programs.
type programs struct{ stoic, helm, certManager string }

// rig is a control plane in which cert-manager runs.
type rig struct {
	programs
	cluster *cluster.Cluster
	issuer  *operator.Process // cert-manager
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	bin     string // a folder with helm, for commands
	dir     string // where commands run
}

func newRig(t *testing.T, p programs) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const account = "system:serviceaccount:cert-manager:"
	c, config := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: 1, Progress: t.Output(),
		Users: map[string]string{"cert-manager": account + "cert-manager", "cainjector": account + "cert-manager-cainjector"}})
	r := &rig{programs: p, cluster: c, typed: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config),
		bin: filepath.Join(dir, "bin"), dir: filepath.Join(dir, "work")}
	for _, folder := range []string{r.bin, r.dir} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p.helm, filepath.Join(r.bin, "helm")); err != nil {
		t.Fatal(err)
	}
	r.installCertManager(t)
	command := []string{p.certManager, "--kubeconfig", c.UserKubeconfig("cert-manager"), "--cainjector-kubeconfig", c.UserKubeconfig("cainjector")}
	r.issuer = operator.Started(t, operator.Options{Command: command})
	return r
}

// build builds a program of a module and returns its file.
func build(t *testing.T, module, program string) string {
	t.Helper()
	programs := operator.Programs{Root: module, Dir: t.TempDir()}
	file, err := programs.Build(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// installCertManager installs the objects of cert-manager's own chart for the control plane: CRDs, service accounts and their rights.
func (r *rig) installCertManager(t *testing.T) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = root + "/tools/certmanager"
	dir, err := list.Output()
	if err != nil {
		t.Fatal("find cert-manager's module:", err)
	}
	rendered := r.run(t, "helm template cert-manager "+strings.TrimSpace(string(dir))+"/deploy/charts/cert-manager -n cert-manager --set crds.enabled=true")
	var wanted []string
	for _, document := range strings.Split(rendered, "\n---\n") {
		if regexp.MustCompile(`(?m)^kind: (CustomResourceDefinition|ServiceAccount|(Cluster)?Role(Binding)?)$`).MatchString(document) {
			wanted = append(wanted, document)
		}
	}
	r.kubectl(t, nil, "create", "namespace", "cert-manager")
	r.kubectl(t, []byte(strings.Join(wanted, "\n---\n")), "apply", "--server-side", "-f", "-")
	r.kubectl(t, nil, "wait", "--for=condition=Established", "--timeout=60s", "crd/issuers.cert-manager.io", "crd/certificates.cert-manager.io",
		"crd/certificaterequests.cert-manager.io", "crd/clusterissuers.cert-manager.io")
}

// run runs commands in the folder of the copy of deploy; each must succeed. It returns their standard output.
func (r *rig) run(t *testing.T, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", "-c", commands)
	command.Dir = r.dir
	command.Env = append(os.Environ(), "KUBECONFIG="+r.cluster.Kubeconfig(), "PATH="+r.bin+":"+os.Getenv("PATH"),
		"HELM_DRIVER=secret", "HELM_CACHE_HOME="+r.dir, "HELM_CONFIG_HOME="+r.dir, "HELM_DATA_HOME="+r.dir)
	var out, talk bytes.Buffer
	command.Stdout, command.Stderr = &out, &talk
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	return out.String()
}

// kubectl runs kubectl as the administrator.
func (r *rig) kubectl(t *testing.T, in []byte, args ...string) string {
	t.Helper()
	out, err := operator.Kubectl(t.Context(), r.cluster.Kubeconfig(), in, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// await waits until the condition holds. When it gives up, it reports what it saw.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	operator.Await(t, patience, what, holds)
}

// issued waits until cert-manager has issued the certificate of a Secret, and it differs from the former one.
func (r *rig) issued(t *testing.T, name string, before *corev1.Secret) (secret *corev1.Secret) {
	t.Helper()
	await(t, "the Secret "+name+" to be issued", func() (bool, string) {
		var err error
		if secret, err = r.typed.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error() + "\n" + r.issuer.Tail()
		}
		return before == nil || !bytes.Equal(before.Data[corev1.TLSCertKey], secret.Data[corev1.TLSCertKey]), "the one of before\n" + r.issuer.Tail()
	})
	if before != nil && bytes.Equal(before.Data[corev1.TLSPrivateKeyKey], secret.Data[corev1.TLSPrivateKeyKey]) {
		t.Errorf("the Secret %s has the key of before", name)
	}
	return secret
}

// renew renews a Certificate, as cmctl renew does.
func (r *rig) renew(t *testing.T, name string) {
	t.Helper()
	certificates := r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}).Namespace(namespace)
	await(t, "the Certificate "+name+" to be written", func() (bool, string) {
		u, err := certificates.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
		if err != nil {
			t.Fatal(err)
		}
		conditions = append(conditions, map[string]any{"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
		if err := unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions"); err != nil {
			t.Fatal(err)
		}
		_, err = certificates.UpdateStatus(t.Context(), u, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err == nil, "a conflict"
	})
}

// noWarnings: cert-manager emits no warnings about our requests.
func (r *rig) noWarnings(t *testing.T) {
	t.Helper()
	list, err := r.typed.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for _, e := range list.Items {
		if !strings.HasPrefix(e.InvolvedObject.APIVersion, "cert-manager.io/") {
			continue
		}
		if reported++; e.Type == corev1.EventTypeWarning {
			t.Errorf("%s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	if reported == 0 {
		t.Error("there are no events of certificates")
	}
}

package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/controller/access"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

const versionsPage = "docs/versions.md"

// rollOut is a control plane for the commands of the page, in a folder with a copy of deploy and the page's overlay.
type rollOut struct {
	*rig
	dir, address string // where the commands run, and where the webhook listens
	commands     map[string]string
}

// TestRollOutOfVersions runs the commands of docs/versions.md unchanged while jobs run: there and back. Pods of Deployments are
// simulated here; beside our Deployment, our operator runs as a process, with the flags, the certificate and the permissions that
// the commands have installed.
func TestRollOutOfVersions(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := newRollOut(t)
	r.run(t, "kubectl apply -k deploy") // as in deploy/README.md
	r.awaitEstablished(t, r.kind)
	p := r.operator(t, "")
	ns, mpi := r.namespace(t, "roll-out"), r.of(kinds.MPIJob())
	r.apply(t, ns, manifest("before", forLong()))
	r.awaitState(t, ns, "before", training.Running)
	before := r.pods(t, ns, "before")

	pods, crds, found := strings.Cut(r.commands["Roll out"], "# Then the CRDs.")
	if !found {
		t.Fatalf("%s does not say when the CRDs follow", versionsPage)
	}
	r.run(t, pods)
	if out := r.kubectl(t, nil, "get", "crd", "tfjobs.kubeflow.org", "-o", "jsonpath={.spec.conversion.strategy} {.spec.versions[*].name}"); out != "None v1" {
		t.Errorf("the pods are there, and the CRD has %s", out)
	}
	p.stop(t)
	p = r.operator(t, "", r.flags(t)...)
	r.run(t, "#"+crds)

	if text := r.kubectl(t, nil, "get", "tfjobs.v1beta2.kubeflow.org", "-n", ns, "before", "-o", "jsonpath={.apiVersion}"); text != "kubeflow.org/v1beta2" {
		t.Errorf("read as %s", text)
	}
	old := strings.Replace(manifest("old", forLong()), "kubeflow.org/v1\n", "kubeflow.org/v1beta2\n", 1)
	r.kubectl(t, []byte(old), "apply", "-n", ns, "--server-side", "--field-manager=author", "-f", "-")
	r.awaitState(t, ns, "old", training.Running)
	r.apply(t, ns, mpiManifest("by-exec", "", 1, "1h"))
	mpi.awaitState(t, ns, "by-exec", training.Running)
	t.Run("an MPIJob of v2beta1", func(t *testing.T) { r.notRun(t, ns, "by-ssh") })
	nothingIsForbidden(t, r.rig)

	r.run(t, r.commands["Roll back"])
	if out, err := r.tryKubectl(nil, "get", "--raw", "/apis/kubeflow.org/v1beta2/tfjobs"); err == nil {
		t.Errorf("v1beta2 is still served: %s", out)
	}
	p.stop(t)
	if got := r.deployed(t, "{.spec.template.spec.containers[0].args[*]}") + r.deployed(t, "{.spec.template.spec.volumes[*].name}"); strings.Contains(got, "conversion") {
		t.Errorf("the Deployment still has %s", got)
	}
	r.operator(t, "")
	r.fieldManagerGone(t, ns, old)
	if diff := cmp.Diff(before, r.pods(t, ns, "before")); diff != "" {
		t.Errorf("pods of the job that ran before (-before +after):\n%s", diff)
	}
	r.apply(t, ns, manifest("after", worker("", "")))
	r.awaitState(t, ns, "after", training.Succeeded)
}

// forLong returns a spec with one worker that runs for longer than the test.
func forLong() string { return strings.Replace(worker("", ""), "run-for: 1s", "run-for: 1h", 1) }

func newRollOut(t *testing.T) *rollOut {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	address, err := operator.Address()
	if err != nil {
		t.Fatal(err)
	}
	r := &rollOut{dir: dir, address: address, commands: commandsOf(t, versionsPage)}
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(filepath.Join(root, "deploy"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, versionsPage))
	if err != nil {
		t.Fatal(err)
	}
	overlay := regexp.MustCompile("(?s)```yaml\n(# overlay/kustomization.yaml.*?)```").FindSubmatch(text)
	if overlay == nil {
		t.Fatalf("%s has no overlay", versionsPage)
	}
	// An API server reaches a process beside it by a Service that is an alias of localhost.
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	here := fmt.Sprintf(`patches:
  - target: {kind: Service, name: training-operator-conversion}
    patch: '- {op: replace, path: /spec, value: {type: ExternalName, externalName: localhost}}'
  - target: {kind: CustomResourceDefinition, name: (tf|mpi)jobs.kubeflow.org}
    patch: '- {op: replace, path: /spec/conversion/webhook/clientConfig/service/port, value: %s}'
`, port)
	if err := os.Mkdir(filepath.Join(dir, "overlay"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay", "kustomization.yaml"), append(overlay[1], here...), 0o600); err != nil {
		t.Fatal(err)
	}
	r.rig = bareRig(t, cluster.Options{})
	return r
}

// run runs commands of the page.
func (r *rollOut) run(t *testing.T, commands string) {
	t.Helper()
	r.shell(t, r.dir, commands, nil)
}

func (r *rollOut) deployed(t *testing.T, path string) string {
	t.Helper()
	return r.kubectl(t, nil, "get", "-n", "kubeflow", "deployment", "training-operator", "-o", "jsonpath="+path)
}

// flags returns those of the webhook's Deployment, with another address and another folder for the Secret.
func (r *rollOut) flags(t *testing.T) []string {
	t.Helper()
	var secret struct{ Data map[string]string }
	if err := json.Unmarshal([]byte(r.kubectl(t, nil, "get", "-n", "kubeflow", "secret", r.deployed(t, `{.spec.template.spec.volumes[?(@.name=="conversion")].secret.secretName}`), "-o", "json")), &secret); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{access.CertFile, access.KeyFile} {
		text, err := base64.StdEncoding.DecodeString(secret.Data[name])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const address, path = "--conversion-bind-address=", "--conversion-cert-path="
	var flags []string
	for word := range strings.FieldsSeq(r.deployed(t, "{.spec.template.spec.containers[0].args[*]}")) {
		switch {
		case strings.HasPrefix(word, address):
			flags = append(flags, address+r.address)
		case strings.HasPrefix(word, path):
			if mounted := r.deployed(t, `{.spec.template.spec.containers[0].volumeMounts[?(@.name=="conversion")].mountPath}`); word != path+mounted {
				t.Errorf("%s, and the Secret is in %s", word, mounted)
			}
			flags = append(flags, path+folder)
		}
	}
	if len(flags) != 2 {
		t.Errorf("the Deployment has %q of the webhook's flags", flags)
	}
	return flags
}

// notRun: an MPIJob of v2beta1 is rejected, an event reports it, and no pod is created. Without the annotation it runs.
func (r *rollOut) notRun(t *testing.T, ns, name string) {
	mpi := r.of(kinds.MPIJob())
	r.apply(t, ns, mpi2Manifest(name, "sshAuthMountPath: /home/mpiuser/.ssh", "{}", ends("1h"), 1, ""))
	var said string
	await(t, "the author of the job of v2beta1 to be told", func() (bool, string) {
		head := mpi.head(t, ns, name)
		if c := head.Status.Condition(training.Failed); c != nil && head.Status.Condition(training.Stalled) != nil {
			said = c.Message
		}
		return said != "", describe(&head.Status)
	})
	for _, word := range []string{"v2beta1", "SSH", "kubectl exec"} {
		if !strings.Contains(said, word) {
			t.Errorf("its author is told: %s", said)
		}
	}
	if pods := r.pods(t, ns, name); len(pods) != 0 {
		t.Errorf("pods %v", pods)
	}
	r.kubectl(t, nil, "annotate", "mpijobs.v1.kubeflow.org", "-n", ns, name, training.AnnotationConversion+"-")
	mpi.awaitState(t, ns, name, training.Running)
}

// fieldManagerGone: a client that has applied a job as v1beta2 can apply it again only after the page's command.
func (r *rollOut) fieldManagerGone(t *testing.T, ns, old string) {
	now := strings.Replace(old, "kubeflow.org/v1beta2", "kubeflow.org/v1", 1)
	args := []string{"apply", "-n", ns, "--server-side", "--field-manager=author", "-f", "-"}
	if out, err := r.tryKubectl([]byte(now), args...); err == nil {
		t.Errorf("an apply over that of v1beta2: %s", out)
	}
	commands := r.commands["Field managers of a version that is gone"]
	if !strings.Contains(commands, " NAME ") {
		t.Fatalf("%s: %s", versionsPage, commands)
	}
	r.run(t, strings.Replace(commands, " NAME ", " -n "+ns+" old ", 1))
	if out, err := r.tryKubectl([]byte(now), args...); err != nil {
		t.Errorf("an apply afterwards: %s", out)
	}
	if managers := r.raw(t, ns, "old").GetManagedFields(); !slices.ContainsFunc(managers, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == "author" && m.APIVersion == "kubeflow.org/v1"
	}) {
		t.Errorf("managers %v", managers)
	}
}

package integration

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/convert"
	"stoic/examples"
	"stoic/schema"
)

// TestInstall does what deploy/README.md tells to do, in a cluster in which nothing of ours is.
func TestInstall(t *testing.T) {
	r := bareRig(t, cluster.Options{})
	crds, all := filepath.Join(root, "deploy/crd"), filepath.Join(root, "deploy")
	const crd = "customresourcedefinition.apiextensions.k8s.io/tfjobs.kubeflow.org"
	for _, step := range []struct{ says, args string }{
		{crd + " created (server dry run)\n", "--dry-run=server"},
		{crd + " created\n", ""},
		{crd + " unchanged\n", ""},
	} {
		args := append([]string{"apply", "-f", crds}, strings.Fields(step.args)...)
		if out := r.kubectl(t, nil, args...); out != step.says {
			t.Errorf("kubectl %s says %q, want %q", strings.Join(args, " "), out, step.says)
		}
	}
	r.kubectl(t, nil, "wait", "--for=condition=Established", crd, "--timeout=30s")
	// All annotations of an object together may have 262144 bytes.
	applied := r.kubectl(t, nil, "get", crd, "-o", `jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}`)
	if len(applied) < 10000 || len(applied) >= 262144-1024 {
		t.Errorf("the annotation of kubectl apply has %d bytes", len(applied))
	}

	r.kubectl(t, nil, "create", "namespace", "kubeflow")
	checkEach(t, "a dry run", r.kubectl(t, nil, "apply", "-k", all, "--dry-run=server"), "(server dry run)")
	r.kubectl(t, nil, "apply", "-k", all)
	checkEach(t, "a second apply", r.kubectl(t, nil, "apply", "-k", all), " unchanged")

	t.Run("explain", func(t *testing.T) { explained(t, r) })
	t.Run("permissions", func(t *testing.T) { permissions(t, r) })
	t.Run("examples", func(t *testing.T) { examplesAccepted(t, r) })
	t.Run("names", func(t *testing.T) {
		r.apply(t, "default", manifest("named", worker("", "")))
		for _, name := range []string{"tfj", "tfjob", "tfjobs", "training", "tfjobs.v1.kubeflow.org"} {
			if out := r.kubectl(t, nil, "get", name, "-o", "name"); out != "tfjob.kubeflow.org/named\n" {
				t.Errorf("kubectl get %s says %q", name, out)
			}
		}
		if out := r.kubectl(t, nil, "get", "tfj"); !regexp.MustCompile(`^NAME +STATE +AGE\nnamed +\S+\n$`).MatchString(out) {
			t.Errorf("kubectl get tfj prints\n%s", out)
		}
	})
}

// checkEach line ends as wanted.
func checkEach(t *testing.T, what, out, end string) {
	t.Helper()
	count := 0
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Warning: ") {
			// Names the object that an administrator had made before without apply: the namespace, here.
			if !strings.Contains(line, "namespaces/kubeflow") {
				t.Errorf("%s warns: %s", what, line)
			}
			continue
		}
		if count++; !strings.HasSuffix(line, end) {
			t.Errorf("%s says: %s", what, line)
		}
	}
	if count < 12 {
		t.Errorf("%s speaks of %d objects:\n%s", what, count, out)
	}
}

// explained: the API server takes a moment to publish a new CRD's documentation.
func explained(t *testing.T, r *rig) {
	await(t, "kubectl explain to know the kind", func() (bool, string) {
		out, err := r.tryKubectl(nil, "explain", "tfjob.spec.runPolicy")
		return err == nil, out
	})
	for path, words := range map[string][]string{
		"tfjob":                {"TFJob", "spec", "status"},
		"tfjob.spec":           {"tfReplicaSpecs", "-required-", "successPolicy", "enum"},
		"tfjob.spec.runPolicy": {"cleanPodPolicy", "All, Running", "backoffLimit", "ttlSecondsAfterFinished", "suspend"},
		"tfjob.spec.tfReplicaSpecs.template.spec.containers": {"image", "name", "-required-"},
	} {
		out := r.kubectl(t, nil, "explain", path)
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("kubectl explain %s does not speak of %q:\n%s", path, word, out)
			}
		}
	}
}

// permissions of the operator as the API server answers for them: these and no others.
func permissions(t *testing.T, r *rig) {
	everywhere := map[string]string{
		"tfjobs.kubeflow.org":            "delete get list watch",
		"tfjobs.kubeflow.org/status":     "patch",
		"tfjobs.kubeflow.org/finalizers": "update",
		"pods":                           "create delete get list watch",
		"services":                       "create delete get list watch",
		"events":                         "create",
		// What the API server lets everybody ask about themselves.
		"selfsubjectaccessreviews.authorization.k8s.io": "create",
		"selfsubjectrulesreviews.authorization.k8s.io":  "create",
		"selfsubjectreviews.authentication.k8s.io":      "create",
	}
	home := map[string]string{"leases.coordination.k8s.io": "create get update"}
	for resource, verbs := range everywhere {
		home[resource] = verbs
	}
	for ns, want := range map[string]map[string]string{"default": everywhere, "kubeflow": home} {
		if diff := cmp.Diff(want, r.allowed(t, ns)); diff != "" {
			t.Errorf("permissions in %s (-want +got):\n%s", ns, diff)
		}
	}
}

// allowed reads what the operator's user may do in a namespace, by resource.
func (r *rig) allowed(t *testing.T, ns string) map[string]string {
	t.Helper()
	out := r.kubectl(t, nil, "auth", "can-i", "--list", "--as="+operatorUser, "-n", ns)
	line := regexp.MustCompile(`^(\S*) +\[(.*)\] +\[(.*)\] +\[(.*)\]$`)
	found := map[string]string{}
	for text := range strings.Lines(out) {
		cells := line.FindStringSubmatch(strings.TrimRight(text, " \n"))
		switch {
		case strings.HasPrefix(text, "Resources "):
		case cells == nil:
			t.Errorf("a line of another form: %q", text)
		case cells[3] != "":
			t.Errorf("a permission for one name only: %q", text)
		case cells[1] == "" && cells[4] == "get": // a path that is no resource, such as /healthz
		case cells[1] == "":
			t.Errorf("a path that may be more than read: %q", text)
		default:
			found[cells[1]] = sorted(cells[4])
		}
	}
	return found
}

// examplesAccepted: the right ones are let in by the CRD and are jobs, the wrong ones are rejected by the converter
// whether or not the CRD would let them in.
func examplesAccepted(t *testing.T, r *rig) {
	right, wrong := 0, 0
	err := fs.WalkDir(examples.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(examples.Files(), path)
		if err != nil {
			return err
		}
		result, err := converted(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if strings.HasPrefix(path, "rejected/") {
			if wrong++; result.Rejection == nil {
				t.Errorf("%s is accepted", path)
			}
			return nil
		}
		if right++; result.Rejection != nil {
			t.Errorf("%s is rejected: %v", path, result.Rejection.Problems)
		}
		if len(result.Warnings) > 0 {
			t.Errorf("%s: %v", path, result.Warnings)
		}
		if out, err := r.tryKubectl(text, "apply", "--dry-run=server", "-f", "-"); err != nil || !strings.Contains(out, "created (server dry run)") {
			t.Errorf("%s: %s, %v", path, out, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if right < 3 || wrong < 5 {
		t.Errorf("%d right examples and %d wrong ones", right, wrong)
	}
}

func converted(text []byte) (*convert.Result, error) {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return convert.Object(schema.TFJob(), u), nil
}

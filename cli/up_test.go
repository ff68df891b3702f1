package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/examples"
	"stoic/training"
	"stoic/training/kinds"
)

// TestExamplesOfOnesOwn: any error in the folder is reported before a control plane is started.
func TestExamplesOfOnesOwn(t *testing.T) {
	const head = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a, annotations: {" + examples.Expect + ": "
	for name, test := range map[string]struct {
		files map[string]string
		says  string
	}{
		"empty":             {nil, "no *.yaml in "},
		"nothing to run":    {map[string]string{"README.md": "text"}, "no *.yaml in "},
		"wrong expectation": {map[string]string{"a.yaml": head + "Perhaps}}\n"}, `a.yaml: annotation ` + examples.Expect + `: found "Perhaps", must be Succeeded, Failed or Rejected`},
		"no expectation":    {map[string]string{"sub/a.yaml": "kind: TFJob\n"}, "sub/a.yaml: annotation " + examples.Expect + `: found "", must be`},
		"another kind":      {map[string]string{"a.yaml": "kind: Pod\n"}, `a.yaml: found kind "Pod", must be one that is served`},
		"not YAML":          {map[string]string{"a.yaml": "{"}, "a.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range test.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, errOut, code := called("stoic", "up", "--once", "--examples", folder)
			if code != 2 || out != "" || !strings.Contains(errOut, test.says) {
				t.Errorf("code %d, stdout %q, stderr %q, want %q", code, out, errOut, test.says)
			}
		})
	}
}

// TestUpCalledWrongly: an impossible flag value is rejected before anything is started.
func TestUpCalledWrongly(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for flags, says := range map[string]string{
		"--nodes -1":             "--nodes: found -1, must be at least 1",
		"--nodes 0":              "--nodes: found 0, must be at least 1",
		"--timeout 0s":           "--timeout: found 0s, must be more than 0",
		"--timeout soon":         "soon",
		"--crs elsewhere":        `--crs: found "elsewhere", must be core or aggregated`,
		"--store redis":          "--store: must be etcd, kine, postgres://... or mysql://...",
		"--store nats://u:p@h/":  `--store: found "nats"://..., must be`,
		"--examples " + nowhere:  nowhere,
		"--source " + nowhere:    "look for sources in " + nowhere,
		"--once --nodes 1 extra": "extra",
	} {
		out, errOut, code := called(append([]string{"stoic", "up"}, strings.Fields(flags)...)...)
		if code != 2 || out != "" || !strings.Contains(errOut, says) {
			t.Errorf("%s: code %d, stdout %q, stderr %q, want %q", flags, code, out, errOut, says)
		}
	}
}

func TestBuiltInExamples(t *testing.T) {
	jobs, err := readExamples("")
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, e := range jobs {
		if e.expect == rejected {
			wrong++
		}
		if e.namespace != "default" || e.name == "" {
			t.Errorf("%+v", e)
		}
	}
	if wrong < 3 || len(jobs)-wrong < 3 {
		t.Errorf("%d examples, %d of them wrong", len(jobs), wrong)
	}
}

// TestGuests: the files of an operator that runs beside the operator of jobs exist, and match.
func TestGuests(t *testing.T) {
	for _, g := range guests() {
		var all stageManifests
		if err := all.add(g); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(all.crds), "kind: "+g.resource().Kind) || !strings.Contains(string(all.others), "kind: Namespace") {
			t.Errorf("%s: CRDs:\n%s\nothers:\n%s", g.name, all.crds, all.others)
		}
		parts := strings.Split(g.user, ":")
		if account := "- kind: ServiceAccount\n    name: " + parts[3] + "\n    namespace: " + parts[2]; !strings.Contains(string(all.others), account) {
			t.Errorf("%s: nothing binds %s", g.name, g.user)
		}
		for file, conditions := range map[string][]string{"example.yaml": {"Ready", "Available"}, "rejected.yaml": {"Stalled"}} {
			o, err := g.object(file)
			if err != nil {
				t.Fatal(err)
			}
			if o.name == "" || o.namespace != "default" || !slices.Contains(conditions, o.condition) {
				t.Errorf("%s: %+v", g.name, o)
			}
		}
		g.checkConverted(t)
	}
	if _, err := (guest{folder: "nowhere"}).file("example.yaml"); err == nil {
		t.Error("an operator that is not built in has a file")
	}
}

// checkConverted checks that example.yaml is well-formed, and that rejected.yaml is not.
func (g guest) checkConverted(t *testing.T) {
	t.Helper()
	for file, wrong := range map[string]bool{"example.yaml": false, "rejected.yaml": true} {
		text, err := g.file(file)
		if err != nil {
			t.Fatal(err)
		}
		var u unstructured.Unstructured
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		if rejection := g.watches[0].Convert(&u).Rejection; (rejection != nil) != wrong {
			t.Errorf("%s of %s: %+v", file, g.name, rejection)
		}
	}
}

// TestOlderCRDs: the demonstration begins with a CRD that accepts anything.
func TestOlderCRDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "crds")
	if err := writeOlderCRDs(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "tfjobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 || len(crd.Spec.Versions[0].Schema.OpenAPIV3Schema) != 2 {
		t.Errorf("%+v", crd)
	}
	if _, err := openCRD([]byte("spec: {versions: [1]}")); err == nil {
		t.Error("a version that is a number was opened")
	}
}

// TestDeployedLeavesTheDeploymentOut: the operator runs in this process, not as a simulated pod.
func TestDeployedLeavesTheDeploymentOut(t *testing.T) {
	crds, others, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(crds), "kind: CustomResourceDefinition") || strings.Contains(string(others), "kind: Deployment") {
		t.Errorf("%d bytes of CRDs, others:\n%s", len(crds), others)
	}
	if first, _, _ := strings.Cut(string(others), "\n---\n"); !strings.Contains(first, "kind: Namespace") {
		t.Errorf("the namespace does not come first:\n%s", first)
	}
}

// TestKindsOfExamples: the demonstration watches exactly those kinds that its jobs have.
func TestKindsOfExamples(t *testing.T) {
	py, tf := example{kind: kinds.PyTorchJob()}, example{kind: kinds.TFJob()}
	for _, test := range []struct {
		some []example
		want []*training.Kind
	}{{nil, nil}, {[]example{tf, tf}, []*training.Kind{kinds.TFJob()}}, {[]example{tf, py}, []*training.Kind{kinds.PyTorchJob(), kinds.TFJob()}}} {
		got := kindsOf(test.some)
		if len(got) != len(test.want) || len(got) > 0 && (got[0] != test.want[0] || got[len(got)-1] != test.want[len(got)-1]) {
			t.Errorf("%v: %v, want %v", test.some, got, test.want)
		}
	}
}

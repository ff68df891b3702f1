package versions

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/convert/versions"
	"stoic/test/golden"
	"stoic/test/untyped"
	"stoic/training"
	convertjob "stoic/training/convert"
	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write the golden files")

func converterOf(t rapid.TB, kind string) *versions.Converter {
	t.Helper()
	k := Of(kind)
	if k == nil {
		t.Fatalf("%s has one version", kind)
	}
	c, err := k.Converter()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGolden converts NAME-to-VERSION.yaml, and checks that nothing is lost on the way there and back.
func TestGolden(t *testing.T) {
	cases := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		job := untyped.Parse(t, archive[name+".yaml"])
		c := converterOf(t, job.GetKind())
		there := convertTo(t, c, job.Object, name[strings.LastIndex(name, "-")+1:])
		from, err := c.VersionOf(job.Object)
		if err != nil {
			t.Fatal(err)
		}
		if back := convertTo(t, c, there.Object, from); normal(t, back.Object) != normal(t, job.Object) {
			t.Errorf("and back:\n%s\nwas\n%s", normal(t, back.Object), normal(t, job.Object))
		}
		text, err := yaml.Marshal(there.Object)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("# %s, lost %q, filled %q\n%s", there.Outcome, there.Lost, there.Filled, text)
	})
	if cases < 12 {
		t.Errorf("%d cases", cases)
	}
}

func convertTo(t rapid.TB, c *versions.Converter, object map[string]any, to string) versions.Result {
	t.Helper()
	r, err := c.Convert(object, to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// normal returns an object as JSON, without our annotation, and without an empty map of annotations.
func normal(t rapid.TB, object map[string]any) string {
	t.Helper()
	var copied map[string]any
	if err := json.Unmarshal(new(convert.Encoder).EncodeAll(object), &copied); err != nil {
		t.Fatal(err)
	}
	if meta, ok := copied["metadata"].(map[string]any); ok {
		annotations, ok := meta["annotations"].(map[string]any)
		delete(annotations, training.AnnotationConversion)
		if ok && len(annotations) == 0 || meta["annotations"] == nil {
			delete(meta, "annotations")
		}
	}
	return string(new(convert.Encoder).EncodeAll(copied))
}

// TestEveryFieldIsSomewhere: each field of two versions with separate schemas is in both, or the table names it.
func TestEveryFieldIsSomewhere(t *testing.T) {
	hub, other := fieldsOf(t, "../../deploy/crd/mpijobs.yaml"), fieldsOf(t, "../../deploy/mpijob-v2beta1/mpijobs.yaml")
	if len(hub) < 20 || len(other) < 20 {
		t.Fatalf("%d and %d fields", len(hub), len(other))
	}
	table := MPIJob().Versions[0]
	for _, side := range []struct {
		has, lacks, named []string
	}{{hub, other, table.HubOnly}, {other, hub, table.Only}} {
		var alone []string
		for _, f := range side.has {
			if !slices.Contains(side.lacks, f) {
				alone = append(alone, f)
			}
		}
		slices.Sort(side.named)
		if !slices.Equal(alone, side.named) {
			t.Errorf("in one alone: %q, in the table: %q", alone, side.named)
		}
	}
}

// fieldsOf returns the fields of the only version of a CRD, except those of pods.
func fieldsOf(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties           map[string]*node `json:"properties"`
		AdditionalProperties *node            `json:"additionalProperties"`
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Root *node `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	var walk func(*node, string)
	walk = func(n *node, at string) {
		for name, below := range n.Properties {
			if name == "template" {
				continue
			}
			p := strings.TrimPrefix(at+"."+name, ".")
			all = append(all, p)
			walk(below, p)
		}
		if n.AdditionalProperties != nil {
			walk(n.AdditionalProperties, at+".*")
		}
	}
	walk(crd.Spec.Versions[0].Schema.Root, "")
	slices.Sort(all)
	return all
}

// TestDefaults: the defaults in the tables are those of the kinds.
func TestDefaults(t *testing.T) {
	for _, k := range kinds.Served() {
		for _, rtype := range k.ReplicaTypes {
			if k.Name != "MPIJob" || rtype.Name != "Launcher" {
				continue
			}
			move := MPIJob().Versions[0].Moves[1]
			want := move.HubDefault
			if k.Version == "v2beta1" {
				want = move.Default
			}
			if got := k.RestartOf(&rtype); string(got) != want {
				t.Errorf("%s %s: a launcher restarts %s, the table says %s", k.Version, k.Name, got, want)
			}
		}
	}
	for _, k := range Kinds() {
		if !slices.ContainsFunc(kinds.Served(), func(s *training.Kind) bool { return s.Name == k.Name && s.Version == k.Hub && s.Group == k.Group }) {
			t.Errorf("%s %s is not served", k.Hub, k.Name)
		}
	}
	if Of("PyTorchJob") != nil {
		t.Error("a PyTorchJob has one version")
	}
}

// TestUnlike: a job of v2beta1 is rejected once it has been converted, one of v1 is a job, also after it has been read and written
// back as v2beta1.
func TestUnlike(t *testing.T) {
	c := converterOf(t, "MPIJob")
	pod := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "mpi", "image": "x"}}}}}
	job := func(version string, more map[string]any) map[string]any {
		spec := map[string]any{"mpiReplicaSpecs": map[string]any{"Launcher": pod, "Worker": pod}}
		maps.Copy(spec, more)
		return map[string]any{"apiVersion": group + "/" + version, "kind": "MPIJob", "metadata": map[string]any{"name": "a", "namespace": "b"}, "spec": spec}
	}
	always := map[string]any{"mpiReplicaSpecs": map[string]any{"Launcher": map[string]any{"restartPolicy": "Never", "template": pod["template"]}, "Worker": pod}}
	for name, test := range map[string]struct {
		object  map[string]any
		by      []string // versions that it passes through to v1
		refused bool
	}{
		"v1":                                   {job("v1", nil), nil, false},
		"v1, written back as v2beta1":          {job("v1", map[string]any{"mainContainer": "mpi"}), []string{"v2beta1"}, false},
		"v2beta1":                              {job("v2beta1", nil), nil, true},
		"v2beta1 with a field of its own":      {job("v2beta1", map[string]any{"sshAuthMountPath": "/home/mpiuser/.ssh"}), nil, true},
		"v2beta1 with nothing but what v1 has": {job("v2beta1", always), nil, false},
	} {
		object := test.object
		for _, version := range append(test.by, "v1") {
			object = convertTo(t, c, object, version).Object
		}
		result := convertjob.Object(kinds.MPIJob(), &unstructured.Unstructured{Object: object})
		if (result.Rejection != nil) != test.refused {
			t.Errorf("%s: %+v", name, result.Rejection)
		}
		if r := result.Rejection; r != nil && (len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Path, training.AnnotationConversion)) {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

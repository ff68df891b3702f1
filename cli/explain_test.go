package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/examples"
	"stoic/schema"
	"stoic/training"
)

// TestExplainGolden: `go test ./cli -update` writes it.
func TestExplainGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":  {},
		"shared":   {"spec.runPolicy.backoffLimit"},
		"elastic":  {"pytorchjob.spec.elasticPolicy"},
		"master":   {"spec.pytorchReplicaSpecs.Master.replicas"},
		"kind":     {"tfj"},
		"object":   {"TFJobs.spec.runPolicy"},
		"roles":    {"tfjob.spec.tfReplicaSpecs"},
		"role":     {"spec.tfReplicaSpecs.worker"},
		"choice":   {"tfjob.spec.runPolicy.cleanPodPolicy"},
		"rules":    {"tfjob.spec.runPolicy.managedBy"},
		"number":   {"tfjob.spec.tfReplicaSpecs.replicas"},
		"ports":    {"spec.tfReplicaSpecs.Worker.template.spec.containers[0].ports"},
		"item":     {"spec.tfReplicaSpecs.Worker.template.spec.containers[0].args[1]"},
		"key":      {`spec.tfReplicaSpecs.Worker.template.spec.containers[0].resources.limits["nvidia.com/gpu"]:`},
		"tree":     {"--recursive", "tfjob.status"},
		"error":    {"typemismatch"},
		"warning":  {"MISPLACEDFIELD"},
		"of-edits": {"Immutable"},
		"newer":    {"mpijob.spec.sshAuthMountPath"},
		"version":  {"mpijob.spec", "--api-version=kubeflow.org/v2beta1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := called(append([]string{"stoic", "explain"}, args...)...)
			if code != 0 || errOut != "" {
				t.Fatalf("code %d, stderr %q", code, errOut)
			}
			sameText(t, filepath.Join("testdata", "explain", name+".txt"), out)
		})
	}
}

// TestExplainSpellings: all spellings of a path lead to the same field.
func TestExplainSpellings(t *testing.T) {
	const pods = "template.spec.containers"
	want, _, _ := called("stoic", "explain", "tfjob.spec.tfReplicaSpecs."+pods+".image")
	if !strings.Contains(want, "\nFIELD: spec.tfReplicaSpecs."+pods+".image <string> -required-\n") {
		t.Fatalf("image is not explained:\n%s", want)
	}
	shown := regexp.MustCompile(`FIELD: \S+`)
	want = shown.ReplaceAllString(want, "")
	for _, path := range []string{
		"TFJob.spec.tfReplicaSpecs.PS." + pods + "[7].image", "tfj.spec.tfReplicaSpecs.ps." + pods + "[].image", "spec.tfReplicaSpecs.Chief." + pods + ".image",
		"TFJOBS.spec.tfReplicaSpecs.WORKER." + pods + "[0].image:", `spec["tfReplicaSpecs"]["Worker"].` + pods + ".image.",
	} {
		got, errOut, code := called("stoic", "explain", path)
		if diff := cmp.Diff(want, shown.ReplaceAllString(got, "")); code != 0 || diff != "" {
			t.Errorf("%s: code %d, stderr %q, -want +got:\n%s", path, code, errOut, diff)
		}
	}
}

func TestExplainUnknown(t *testing.T) {
	for argument, says := range map[string]string{
		"":                                 "must be a code, or a path such as",
		".":                                "must be a code, or a path such as",
		"a[1":                              "must be a code, or a path such as",
		"misingfield":                      "did you mean `MissingField`?",
		"tfjop":                            "did you mean `tfjob`?",
		"spek.runPolicy":                   "did you mean `spec`?",
		"notebook.spec":                    "`stoic explain` lists them",
		"tfjob.spek":                       "there is no \"spek\" in TFJob; did you mean `spec`?",
		"tfjob..spec":                      `there is no "" in TFJob`,
		"tfjob.spec.cleanPodPolicy":        "there is no \"cleanPodPolicy\" in spec; there is one in `spec.runPolicy`",
		"spec.runPolicy.cleanpodpolicy":    "did you mean `cleanPodPolicy`?",
		"spec.runPolicy.nonsense":          "its fields are activeDeadlineSeconds, backoffLimit,",
		"spec.runPolicy.suspend.now":       "there is no \"now\" in spec.runPolicy.suspend, which is of type <boolean>",
		"spec.runPolicy[0]":                `there is no "[0]" in spec.runPolicy`,
		"spec.tfReplicaSpecs[0]":           `there is no "[0]" in spec.tfReplicaSpecs`,
		"spec.tfReplicaSpecs.Workr":        "did you mean `Worker`?",
		"tfjob.spec.tfReplicaSpecs.Driver": "its fields are Chief, Evaluator, Master, PS, Worker, replicas,",
		"tfjob.spec.tfReplicaSpecs.template.spec.containers[0].sth":   "`stoic explain tfjob.spec.tfReplicaSpecs.template.spec.containers[0]` lists its fields",
		"tfjob.spec.tfReplicaSpecs.template.spec.containers[x].image": `there is no "[x]" in`,
		strings.Repeat("x", 1<<16):                                    "must be a code, or a path that begins with",
	} {
		out, errOut, code := called("stoic", "explain", argument)
		if code != 2 || out != "" || !strings.Contains(errOut, says) || len(errOut) > 600 {
			t.Errorf("%.80s: code %d, stdout %q, stderr %q, want %q", argument, code, out, errOut, says)
		}
	}
	for version, says := range map[string]string{
		"v1":                   `--api-version: found "v1", must be one of kubeflow.org/v1, kubeflow.org/v2beta1; leave it out`,
		"kubeflow.org/v2beta":  `did you mean "kubeflow.org/v2beta1"?`,
		"kubeflow.org/v2beta1": `found "tfjob", must be a code`,
	} {
		if out, errOut, code := called("stoic", "explain", "tfjob.spec", "--api-version", version); code != 2 || out != "" || !strings.Contains(errOut, says) {
			t.Errorf("%s: code %d, stdout %q, stderr %q, want %q", version, code, out, errOut, says)
		}
	}
	if out, errOut, code := called("stoic", "explain", "tfjob", "spec"); code != 2 || out != "" || errOut == "" {
		t.Errorf("two arguments: code %d, stdout %q, stderr %q", code, out, errOut)
	}
}

// TestExplainSeveralKinds: a path without a kind must mean one field.
func TestExplainSeveralKinds(t *testing.T) {
	named := func(name string, fields ...string) *manual {
		m := &manual{kind: &training.Kind{Name: name, Singular: strings.ToLower(name)}, root: &field{Properties: map[string]*field{"spec": {Properties: map[string]*field{}}}}}
		for _, f := range fields {
			m.root.Properties["spec"].Properties[f] = &field{Type: "string"}
		}
		return m
	}
	manuals := []*manual{named("A", "both", "onlyA", "same"), named("B", "both", "same")}
	manuals[1].root.Properties["spec"].Properties["both"].Description = "something else"
	if at, err := lookUp(manuals, "spec.same"); err != nil || !strings.HasPrefix(at.print(false), "KIND:     A, B\n") {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := lookUp(manuals, "spec.onlyA"); err != nil || at.manual != manuals[0] {
		t.Errorf("%+v, %v", at, err)
	}
	if _, err := lookUp(manuals, "spec.both"); err == nil || !strings.Contains(err.Error(), "begin with one of a, b") {
		t.Errorf("a field of two kinds: %v", err)
	}
	if at, err := lookUp(manuals, "b.spec.both"); err != nil || at.manual != manuals[1] {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestExplainMessages: every path that a message names can be explained, unless the message says that it does not exist.
func TestExplainMessages(t *testing.T) {
	all, err := examples.Mistakes()
	if err != nil {
		t.Fatal(err)
	}
	manuals, err := readManuals("", "")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m): (?:error|warning): (\S+): .* \[(\w+)\]$`)
	asked := 0
	for _, m := range all {
		for _, reported := range line.FindAllStringSubmatch(m.Reported, -1) {
			there := !slices.Contains([]schema.Code{schema.UnknownField, schema.MisplacedField, schema.UnknownReplicaType}, schema.Code(reported[2])) ||
				strings.Contains(reported[0], "deprecated")
			path := reported[1]
			if _, kind, named := strings.Cut(m.Manifest, "\nkind: "); named && !there { // another kind may have that field
				kind, _, _ = strings.Cut(kind, "\n")
				path = strings.ToLower(kind) + "." + path
			}
			if _, err := lookUp(manuals, path); there != (err == nil) {
				t.Errorf("%s: %v", reported[1], err)
			}
			asked++
		}
	}
	if asked < 20 {
		t.Errorf("%d paths in all messages", asked)
	}
}

func TestExplainCompletion(t *testing.T) {
	const noSpace, space = ":6", ":4"
	for begun, want := range map[string][]string{
		"tf":                            {"tfjob", noSpace},
		"tfjob.":                        {"tfjob.apiVersion", "tfjob.kind", "tfjob.metadata", "tfjob.spec", "tfjob.status", noSpace},
		"tfjob.spec.r":                  {"tfjob.spec.runPolicy", noSpace},
		"spec.tfReplicaSpecs.":          {"spec.tfReplicaSpecs.Chief", "spec.tfReplicaSpecs.Evaluator", "spec.tfReplicaSpecs.Master", "spec.tfReplicaSpecs.PS", "spec.tfReplicaSpecs.Worker", "spec.tfReplicaSpecs.replicas", "spec.tfReplicaSpecs.restartPolicy", "spec.tfReplicaSpecs.template", noSpace},
		"spec.tfReplicaSpecs.Worker.re": {"spec.tfReplicaSpecs.Worker.replicas", "spec.tfReplicaSpecs.Worker.restartPolicy", noSpace},
		"tfjob.spec.runPolicy.suspend.": {noSpace},
		"tfjob.spek.":                   {space},
		"mpijob.spec.s":                 {"mpijob.spec.slotsPerWorker", "mpijob.spec.sshAuthMountPath", noSpace},
		"Mis":                           {"MisplacedField", "MissingField", "MissingContainer", space},
		"Immutable":                     {"Immutable", space},
		"nothing-begins-like-this":      {space},
	} {
		out, _, code := called("stoic", "__complete", "explain", begun)
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		if diff := cmp.Diff(want, got); code != 0 || diff != "" {
			t.Errorf("%q: code %d, -want +got:\n%s", begun, code, diff)
		}
	}
	if out, _, _ := called("stoic", "__complete", "explain", "tfjob", ""); out != space+"\n" {
		t.Errorf("a second argument is offered: %q", out)
	}
}

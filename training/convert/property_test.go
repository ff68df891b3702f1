package convert

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/kinds"
)

// check converts raw and fails if the result breaks a promise of Object.
func check(t rapid.TB, raw map[string]any) *Result {
	t.Helper()
	return checkAs(t, kindFor(raw), raw)
}

// checkAs is check for an object from a watch of a kind, whatever kind it names.
func checkAs(t rapid.TB, kind *training.Kind, raw map[string]any) *Result {
	t.Helper()
	same, _ := untyped.Clone(raw).(map[string]any)
	got := Object(kind, &unstructured.Unstructured{Object: raw})
	if !untyped.Equal(raw, same) {
		t.Fatalf("changed its input\nfrom %v\nto   %v", same, raw)
	}
	again := Object(kind, &unstructured.Unstructured{Object: same})
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("two answers:\n%s\n%s", describe(got), describe(again))
	}
	untyped.Destroy(same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("kept something of its input:\n%s\n%s", describe(got), describe(again))
	}
	if got.Head == nil || got.Head.Kind != kind {
		t.Fatal("no head")
	}
	if (got.Job == nil) == (got.Rejection == nil) {
		t.Fatalf("job %v, rejection %v", got.Job, got.Rejection)
	}
	checkStatus(t, kind, got.Status)
	untyped.CheckProblems(t, got.Warnings, reportLimit+1)
	if got.Rejection != nil {
		if got.Rejection.Head != got.Head || len(got.Rejection.Problems) == 0 {
			t.Fatalf("empty rejection %+v", got.Rejection)
		}
		untyped.CheckProblems(t, got.Rejection.Problems, reportLimit+1)
		for _, p := range got.Rejection.Problems {
			top, _, _ := strings.Cut(p.Path, ".")
			if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec"}, top) || strings.Contains(p.String(), "bug") {
				t.Fatalf("unexpected problem %s", p)
			}
		}
		return got
	}
	checkJob(t, got.Job)
	return got
}

// checkJob checks a job against the promises of package training, and its template with the decoder of the API
// server, which accepts every template that the converter accepts.
func checkJob(t rapid.TB, job *training.Job) {
	t.Helper()
	if n := job.Replicas(); n < 1 || n > training.MaxReplicas {
		t.Fatalf("%d replicas", n)
	}
	order := -1
	for _, rtype := range job.ReplicaTypes {
		at := slices.IndexFunc(job.Kind.ReplicaTypes, func(k training.KnownReplicaType) bool { return k.Name == rtype.Name })
		if at <= order || rtype.Replicas < 0 {
			t.Fatalf("replica type %+v", rtype)
		}
		order = at
		var template corev1.PodTemplateSpec
		if err := kjson.Unmarshal(rtype.Template, &template); err != nil { // as the server does, by the exact name of a field
			t.Fatalf("template %s: %v", rtype.Template, err)
		}
		at = slices.IndexFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == rtype.Container })
		if at < 0 || string(template.Spec.RestartPolicy) != rtype.Restart.Pod() {
			t.Fatalf("template %s", rtype.Template)
		}
		if job.Kind.FirstContainer {
			at = 0
		} else if rtype.Container != job.Kind.Container {
			t.Fatalf("container %q", rtype.Container)
		}
		checkPorts(t, &rtype, &template.Spec, at)
	}
}

// checkPorts checks that each TCP port of the containers and sidecars occurs once, with its number, and that the training
// container has no TCP port twice.
func checkPorts(t rapid.TB, rtype *training.ReplicaType, spec *corev1.PodSpec, trainer int) {
	t.Helper()
	containers := slices.DeleteFunc(slices.Clone(spec.InitContainers), func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})
	containers = append(containers, spec.Containers...)
	want := map[int32]bool{}
	if rtype.Port != 0 {
		want[rtype.Port] = true
	}
	for _, container := range containers {
		for _, p := range container.Ports {
			if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
				want[p.ContainerPort] = true
			}
		}
	}
	got := map[int32]bool{}
	for _, port := range rtype.Ports {
		got[port.Number] = true
	}
	if len(got) != len(rtype.Ports) || !maps.Equal(got, want) {
		t.Fatalf("ports %v, in the template %v", rtype.Ports, want)
	}
	if rtype.Port == 0 {
		return
	}
	isDeclared := false
	for _, p := range spec.Containers[trainer].Ports {
		isDeclared = isDeclared || p.ContainerPort == rtype.Port
	}
	if !isDeclared && !spec.HostNetwork { // with it, another container may have the number: see onHost
		t.Fatalf("port %d is missing in %v", rtype.Port, spec.Containers[trainer].Ports)
	}
}

// mutations returns the values that replace any node of a valid object.
func mutations() []any {
	return []any{
		untyped.Missing{}, nil, "", "x", "  ", int64(0), int64(-1), int64(1 << 31), int64(1 << 32), int64(math.MaxInt64), int64(math.MinInt64),
		1e308, -1e308, 1.5, 3.0, math.NaN(), math.Inf(-1), true, false, []any{}, []any{nil}, map[string]any{}, map[string]any{"": int64(1)},
		map[string]any{"a": map[string]any{"b": nil}}, "Never", "Worker", "tensorflow", "4", "true", "64Gb", "1e9999999",
		strings.Repeat("x", 1<<12), "a\xffb\ud7ff\u202e\x00\n", untyped.Nested(100), 3, int32(3), uint64(math.MaxUint64), float32(2),
		json.Number("12"), json.Number("zwölf"), []string{"a"}, struct{}{}, map[string]string{"a": "b"}, func() {},
	}
}

// wrongTypes returns a value of every type.
func wrongTypes() []any {
	return []any{untyped.Missing{}, nil, "x", int64(-1), 1.5, true, []any{nil}, map[string]any{"": int64(1)}, json.Number("12"), []string{"a"}}
}

// TestEveryNodeEveryMutation replaces every node of a valid TFJob by every mutation, and every node of a valid object of every
// other kind by a value of every type. Problems of the TFJob are reported for the node, for one above or below it, or for
// one that refers to it.
func TestEveryNodeEveryMutation(t *testing.T) {
	t.Run("TFJob", func(t *testing.T) {
		everyMutation(t, oneReplicaType(t), mutations(), 1000, func(place string, got *Result) {
			for _, p := range problemsOf(got) {
				if !under(p.Path, place) && !under(place, p.Path) && !refers(place, p) {
					t.Errorf("%s was changed: reported %s", place, p)
				}
			}
		})
	})
	for _, raw := range samples(t)[1:] {
		t.Run(kindFor(raw).Name+" "+kindFor(raw).Version, func(t *testing.T) {
			everyMutation(t, raw, wrongTypes(), 40, func(string, *Result) {})
		})
	}
}

// elastic returns a PyTorchJob with all fields that only a PyTorchJob has.
var elastic = []byte(`
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: team-a}
spec:
  nprocPerNode: "4"
  elasticPolicy:
    minReplicas: 1
    maxReplicas: 4
    rdzvBackend: c10d
    rdzvPort: 29400
    rdzvHost: host
    rdzvId: run
    rdzvConf: [{key: timeout, value: "900"}]
    standalone: false
    maxRestarts: 3
    metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
    - type: Pods
      pods: {metric: {name: queue, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: 30}}
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: pt}]}}}
    Worker: {replicas: 2, restartPolicy: ExitCode, template: {spec: {containers: [{name: pytorch, image: pt, args: ["1"]}]}}}
`)

// everyMutation converts base with each value at each place. Jobs, rejections and comparisons with the decoder must be at least as
// many as least says.
func everyMutation(t *testing.T, base map[string]any, values []any, least int, inspect func(place string, got *Result)) {
	kind := kindFor(base)
	jobs, rejections, compared := 0, 0, 0
	for _, n := range nodes(nil, base) {
		for _, value := range values {
			raw, _ := untyped.Clone(base).(map[string]any)
			set(t, raw, n.at, untyped.Clone(value))
			got := checkAs(t, kind, raw)
			inspect(n.at.String(), got)
			if got.Job != nil {
				jobs++
			} else {
				rejections++
			}
			if compareWithDecoder(t, kind, raw, got) {
				compared++
			}
		}
	}
	t.Logf("%d jobs, %d rejections, %d compared with the decoder", jobs, rejections, compared)
	if jobs < least || rejections < least || compared < least {
		t.Error("the mutations are one-sided")
	}
}

// compareWithDecoder compares the walk with the decoder that the API server uses for its own types. Both accept the same
// objects, except that the walk deliberately rejects a null in a list or as a value of a map.
func compareWithDecoder(t *testing.T, kind *training.Kind, raw map[string]any, got *Result) (compared bool) {
	t.Helper()
	raw, _ = untyped.Clone(raw).(map[string]any)
	forget(kind, raw)
	text, err := json.Marshal(raw["spec"])
	if err != nil || !bytes.Equal(text, new(convert.Encoder).Encode(raw["spec"])) {
		return false // not JSON, or bytes that JSON cannot hold
	}
	spec, _ := kind.Wire.FieldByName("Spec")
	err = json.Unmarshal(text, reflect.New(spec.Type).Interface())
	if err != nil && got.Job != nil {
		t.Errorf("a job, but %v in %s", err, text)
	}
	if err != nil || got.Rejection == nil {
		return true
	}
	for _, p := range got.Rejection.Problems {
		if p.Code == schema.TypeMismatch && p.Found != "null" && strings.HasPrefix(p.Path, "spec.") {
			t.Errorf("the decoder does not mind: %s", p)
		}
	}
	return true
}

// forget removes the restart policy of a template, which is ignored and may have any value.
func forget(kind *training.Kind, raw map[string]any) {
	spec, _ := raw["spec"].(map[string]any)
	rtypes, _ := spec[kind.ReplicaSpecsField].(map[string]any)
	for _, rtype := range rtypes {
		rtype, _ := rtype.(map[string]any)
		template, _ := rtype["template"].(map[string]any)
		pod, _ := template["spec"].(map[string]any)
		delete(pod, "restartPolicy")
	}
}

// TestOrderDoesNotMatter: the same replica types in any order and case are the same job.
func TestOrderDoesNotMatter(t *testing.T) {
	base := untyped.Parse(t, large).Object
	want := describe(Object(kinds.TFJob(), &unstructured.Unstructured{Object: base}))
	rapid.Check(t, func(t *rapid.T) {
		raw, _ := untyped.Clone(base).(map[string]any)
		spec := raw["spec"].(map[string]any)
		rtypes := spec["tfReplicaSpecs"].(map[string]any)
		other := map[string]any{}
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(rtypes))).Draw(t, "order") {
			key := rapid.SampledFrom([]string{name, strings.ToLower(name), strings.ToUpper(name)}).Draw(t, "key")
			other[key] = rtypes[name]
		}
		spec["tfReplicaSpecs"] = other
		if got := describe(check(t, raw)); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

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
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"stoic/schema"
)

// check converts raw and fails unless everything holds that Object promises of every answer.
func check(t rapid.TB, raw map[string]any) *Result {
	t.Helper()
	kind := kindFor(raw)
	same, _ := clone(raw).(map[string]any)
	got := Object(kind, &unstructured.Unstructured{Object: raw})
	if !equal(raw, same) {
		t.Fatalf("changed its input\nfrom %v\nto   %v", same, raw)
	}
	again := Object(kind, &unstructured.Unstructured{Object: same})
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("two answers:\n%s\n%s", describe(got), describe(again))
	}
	destroy(same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("kept something of its input:\n%s\n%s", describe(got), describe(again))
	}
	if got.Head == nil || got.Head.Kind != kind {
		t.Fatal("no head")
	}
	if (got.Job == nil) == (got.Rejection == nil) {
		t.Fatalf("job %v, rejection %v", got.Job, got.Rejection)
	}
	checkProblems(t, got.Warnings)
	if got.Rejection != nil {
		if got.Rejection.Head != got.Head || len(got.Rejection.Problems) == 0 {
			t.Fatalf("empty rejection %+v", got.Rejection)
		}
		checkProblems(t, got.Rejection.Problems)
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

func checkProblems(t rapid.TB, problems []schema.Problem) {
	t.Helper()
	if len(problems) > toldLimit+1 {
		t.Fatalf("%d problems", len(problems))
	}
	if !slices.IsSortedFunc(problems, func(a, b schema.Problem) int { return schema.ComparePaths(a.Path, b.Path) }) {
		t.Fatalf("out of order: %v", problems)
	}
	for _, p := range problems {
		text := p.String()
		if !slices.Contains(schema.Codes(), p.Code) || !utf8.ValidString(text) || len(text) > schema.MaxSummary ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x202e }) {
			t.Fatalf("bad problem of %d bytes: %q", len(text), text)
		}
	}
}

// checkJob holds a job against the promises of package schema, and its template against the decoder of the API
// server: what is accepted here can be posted.
func checkJob(t rapid.TB, job *schema.Job) {
	t.Helper()
	if n := job.Replicas(); n < 1 || n > schema.MaxReplicas {
		t.Fatalf("%d replicas", n)
	}
	order := -1
	for _, role := range job.Roles {
		at := slices.Index(job.Kind.Roles, role.RoleKind)
		if at <= order || role.Replicas < 0 {
			t.Fatalf("role %+v", role)
		}
		order = at
		var template corev1.PodTemplateSpec
		if err := kjson.Unmarshal(role.Template, &template); err != nil { // as the server does, by the exact name of a field
			t.Fatalf("template %s: %v", role.Template, err)
		}
		at = slices.IndexFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == job.Kind.Container })
		if at < 0 || string(template.Spec.RestartPolicy) != role.Restart.Pod() {
			t.Fatalf("template %s", role.Template)
		}
		var ports []schema.Port
		for _, p := range template.Spec.Containers[at].Ports {
			if p.Name != "" {
				ports = append(ports, schema.Port{Name: p.Name, Number: p.ContainerPort})
			}
		}
		own := schema.Port{Name: job.Kind.Port.Name, Number: role.Port}
		if template.Spec.HostNetwork && len(ports) < len(role.Ports) {
			ports = append(ports, own) // another port has the number; see onHost
		}
		if !slices.Equal(ports, role.Ports) || !slices.Contains(ports, own) {
			t.Fatalf("ports %v, in the template %v", role.Ports, ports)
		}
	}
}

// mutations are what is put in the place of any node of a sound object.
func mutations() []any {
	return []any{
		missing{}, nil, "", "x", "  ", int64(0), int64(-1), int64(1 << 31), int64(1 << 32), int64(math.MaxInt64), int64(math.MinInt64),
		1e308, -1e308, 1.5, 3.0, math.NaN(), math.Inf(-1), true, false, []any{}, []any{nil}, map[string]any{}, map[string]any{"": int64(1)},
		map[string]any{"a": map[string]any{"b": nil}}, "Never", "Worker", "tensorflow", "4", "true", "64Gb", "1e9999999",
		strings.Repeat("x", 1<<16), "a\xffb\ud7ff\u202e\x00\n", nested(100), 3, int32(3), uint64(math.MaxUint64), float32(2),
		json.Number("12"), json.Number("zwölf"), []string{"a"}, struct{}{}, map[string]string{"a": "b"}, func() {},
	}
}

// missing is the mutation that removes the node.
type missing struct{}

func nested(depth int) any {
	var v any = "deep"
	for i := range depth {
		if i%2 == 0 {
			v = map[string]any{"a": v}
		} else {
			v = []any{v}
		}
	}
	return v
}

// mutate replaces the node of number *at, counted in order from v itself, and leaves *at negative if there is
// one of that number.
func mutate(v any, at *int, value any) any {
	*at--
	if *at == -1 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] = mutate(v[key], at, value); *at < 0 {
				if _, gone := v[key].(missing); gone {
					delete(v, key)
				}
				return v
			}
		}
	case []any:
		for i := range v {
			if v[i] = mutate(v[i], at, value); *at < 0 {
				if _, gone := v[i].(missing); gone {
					return slices.Delete(v, i, i+1)
				}
				return v
			}
		}
	}
	return v
}

// clone copies JSON and lets anything else be.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = clone(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, value := range v {
			c[i] = clone(value)
		}
		return c
	}
	return v
}

// equal compares JSON; of anything else, and of what differs from itself, only the type.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string, bool, int64, nil:
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}

// destroy empties every map and list.
func destroy(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			destroy(value)
		}
		clear(v)
	case []any:
		for _, value := range v {
			destroy(value)
		}
		clear(v)
	}
}

// TestEveryNodeEveryMutation replaces every node of a sound object by every mutation.
func TestEveryNodeEveryMutation(t *testing.T) {
	base := parse(t, large).Object
	roles := at(t, base, "spec", "tfReplicaSpecs").(map[string]any)
	delete(roles, "PS") // it is like the others
	delete(roles, "Worker")
	t.Run("TFJob", func(t *testing.T) { everyMutation(t, base, 1000) })
	t.Run("PyTorchJob", func(t *testing.T) { everyMutation(t, parse(t, elastic).Object, 300) })
}

// elastic is a PyTorchJob with all that only a PyTorchJob has.
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

func everyMutation(t *testing.T, base map[string]any, least int) {
	jobs, rejections, compared := 0, 0, 0
	for _, value := range mutations() {
		for at := 1; ; at++ {
			raw, _ := clone(base).(map[string]any)
			n := at
			raw, _ = mutate(raw, &n, clone(value)).(map[string]any)
			if n >= 0 {
				break
			}
			got := check(t, raw)
			if got.Job != nil {
				jobs++
			} else {
				rejections++
			}
			if compareWithDecoder(t, raw, got) {
				compared++
			}
		}
	}
	t.Logf("%d jobs, %d rejections, %d compared with the decoder", jobs, rejections, compared)
	if jobs < least || rejections < least || compared < least {
		t.Error("the mutations are one-sided")
	}
}

// compareWithDecoder holds the walk against the decoder that the API server uses for its own types. What we take it
// takes; what it takes we take, or else we are stricter on purpose: no null in a list or as a value of a map.
func compareWithDecoder(t *testing.T, raw map[string]any, got *Result) (compared bool) {
	t.Helper()
	raw, _ = clone(raw).(map[string]any)
	forget(raw)
	text, err := json.Marshal(raw["spec"])
	if err != nil || !bytes.Equal(text, new(encoder).encode(raw["spec"])) {
		return false // not JSON, or bytes that JSON cannot hold
	}
	if kindFor(raw) == schema.PyTorchJob() {
		err = json.Unmarshal(text, new(schema.PyTorchJobSpec))
	} else {
		err = json.Unmarshal(text, new(schema.TFJobSpec))
	}
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

// forget takes away what means nothing in a template and is taken whatever it is: its restart policy.
func forget(raw map[string]any) {
	spec, _ := raw["spec"].(map[string]any)
	roles, _ := spec[kindFor(raw).RolesField].(map[string]any)
	for _, role := range roles {
		role, _ := role.(map[string]any)
		template, _ := role["template"].(map[string]any)
		pod, _ := template["spec"].(map[string]any)
		delete(pod, "restartPolicy")
	}
}

func anyJSON() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		all := mutations()
		leaf := rapid.Custom(func(t *rapid.T) any {
			switch i := rapid.IntRange(0, len(all)+2).Draw(t, "leaf"); {
			case i < len(all):
				return clone(all[i])
			case i == len(all):
				return rapid.String().Draw(t, "text")
			case i == len(all)+1:
				return rapid.Int64().Draw(t, "integer")
			default:
				return rapid.Float64().Draw(t, "float")
			}
		})
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return rapid.SliceOfN(leaf, 0, 3).Draw(t, "list")
		case 1:
			return rapid.MapOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"name", "spec", "template", "containers", "Worker"})), leaf, 0, 3).Draw(t, "object")
		default:
			return leaf.Draw(t, "value")
		}
	})
}

// TestMutations: whatever stands in up to three places of a sound object, the promises hold.
func TestMutations(t *testing.T) {
	bases := []map[string]any{parse(t, large).Object, parse(t, elastic).Object}
	rapid.Check(t, func(t *rapid.T) {
		raw, _ := clone(rapid.SampledFrom(bases).Draw(t, "of")).(map[string]any)
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			at := rapid.IntRange(1, 400).Draw(t, "at")
			raw, _ = mutate(raw, &at, anyJSON().Draw(t, "value")).(map[string]any)
		}
		check(t, raw)
	})
}

// TestOrderDoesNotMatter: the same roles, written in any order and case, are the same job.
func TestOrderDoesNotMatter(t *testing.T) {
	base := parse(t, large).Object
	want := describe(Object(schema.TFJob(), &unstructured.Unstructured{Object: base}))
	rapid.Check(t, func(t *rapid.T) {
		raw, _ := clone(base).(map[string]any)
		spec := raw["spec"].(map[string]any)
		roles := spec["tfReplicaSpecs"].(map[string]any)
		other := map[string]any{}
		for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(roles))).Draw(t, "order") {
			key := rapid.SampledFrom([]string{name, strings.ToLower(name), strings.ToUpper(name)}).Draw(t, "key")
			other[key] = roles[name]
		}
		spec["tfReplicaSpecs"] = other
		if got := describe(check(t, raw)); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

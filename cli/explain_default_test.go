package cli

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

// others returns JSON values that differ from the default. They prove that a field with a stated default has an effect.
func others() map[string]string {
	return map[string]string{
		"spec.runPolicy.cleanPodPolicy":                          `"All"`,
		"spec.runPolicy.ttlSecondsAfterFinished":                 `0`,
		"spec.runPolicy.activeDeadlineSeconds":                   `1000000`,
		"spec.runPolicy.backoffLimit":                            `6`,
		"spec.runPolicy.suspend":                                 `true`,
		"spec.runPolicy.managedBy":                               `"kueue.x-k8s.io/multikueue"`,
		"spec.runPolicy.schedulingPolicy.minAvailable":           `1`,
		"spec.runPolicy.schedulingPolicy.queue":                  `"a"`,
		"spec.runPolicy.schedulingPolicy.minResources":           `{"cpu": "1"}`,
		"spec.runPolicy.schedulingPolicy.priorityClass":          `"a"`,
		"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds": `0`,
		"spec.successPolicy":                                     `"AllWorkers"`,
		"spec.enableDynamicWorker":                               `true`,
		"spec.nprocPerNode":                                      `"2"`,
		"spec.elasticPolicy":                                     `{}`,
		"spec.elasticPolicy.minReplicas":                         `0`,
		"spec.elasticPolicy.maxReplicas":                         `7`,
		"spec.elasticPolicy.rdzvBackend":                         `"etcd"`,
		"spec.elasticPolicy.rdzvPort":                            `29500`,
		"spec.elasticPolicy.rdzvHost":                            `"etcd.svc"`,
		"spec.elasticPolicy.rdzvId":                              `"a"`,
		"spec.elasticPolicy.rdzvConf":                            `[{"key": "a", "value": "b"}]`,
		"spec.elasticPolicy.rdzvConf.key":                        `"a"`,
		"spec.elasticPolicy.rdzvConf.value":                      `"a"`,
		"spec.elasticPolicy.standalone":                          `true`,
		"spec.elasticPolicy.nProcPerNode":                        `2`,
		"spec.elasticPolicy.maxRestarts":                         `0`,
		"spec.elasticPolicy.metrics":                             `[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]`,
		"spec.slotsPerWorker":                                    `2`,
		"spec.cleanPodPolicy":                                    `"All"`,
		"spec.mainContainer":                                     `"mpi"`,
		"spec.runLauncherAsWorker":                               `true`,
		"spec.sshAuthMountPath":                                  `"/home/a/.ssh"`,
		"spec.launcherCreationPolicy":                            `"WaitForWorkersReady"`,
		"spec.mpiImplementation":                                 `"MPICH"`,
		"ROLES.replicas":                                         `2`,
		"ROLES.restartPolicy":                                    `"Always"`,
		"ROLES.template.spec.restartPolicy":                      `"Always"`,
		"ROLES.template.spec.containers.ports":                   `[{"containerPort": 1}]`,
	}
}

// converted returns the conversion of a job of one replica type, with one field set to a value or, without one, left out.
func converted(t *testing.T, kind *training.Kind, rtype string, at []string, value string) *convert.Result {
	t.Helper()
	container, replicas := cmp.Or(kind.Container, "main"), ""
	if known := kind.ReplicaType(rtype); known.Replicas == 0 {
		replicas = `"replicas": 1, `
	}
	text := `{"apiVersion": "` + kind.APIVersion() + `", "kind": "` + kind.Name + `", "metadata": {"name": "a"}, "spec": {"runPolicy": {"schedulingPolicy": {}},
		"` + kind.ReplicaSpecsField + `": {"` + rtype + `": {` + replicas + `"template": {"spec": {"containers": [{"name": "` + container + `", "image": "a"}]}}}}}}`
	var object map[string]any
	if err := kjson.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	spec, _ := object["spec"].(map[string]any)
	rtypes, _ := spec[kind.ReplicaSpecsField].(map[string]any)
	for _, other := range kind.ReplicaTypes {
		if other.Required && rtypes[other.Name] == nil {
			rtypes[other.Name] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": container, "image": "a"}}}}}
		}
	}
	if len(at) > 2 && at[1] == "elasticPolicy" {
		spec["elasticPolicy"] = map[string]any{"rdzvConf": []any{map[string]any{}}}
	}
	within := object
	for _, step := range at[:len(at)-1] {
		switch next := within[step].(type) {
		case map[string]any:
			within = next
		case []any:
			within, _ = next[0].(map[string]any)
		}
		if within == nil {
			t.Fatalf("%q leads nowhere", at)
		}
	}
	delete(within, at[len(at)-1])
	if value != "" {
		var set struct{ Value any }
		if err := kjson.Unmarshal([]byte(`{"Value": `+value+`}`), &set); err != nil {
			t.Fatal(err)
		}
		within[at[len(at)-1]] = set.Value
	}
	return convert.Object(kind, &unstructured.Unstructured{Object: object})
}

// TestDefaults compares what is stated about omitted fields with what the converter does.
func TestDefaults(t *testing.T) {
	for _, kind := range kinds.Served() {
		values := others()
		for _, d := range kind.Defaults() {
			pattern, ofReplicaType := d.Path, strings.HasPrefix(d.Path, "spec."+kind.ReplicaSpecsField+".")
			if ofReplicaType {
				pattern = "ROLES" + strings.TrimPrefix(d.Path, "spec."+kind.ReplicaSpecsField)
			}
			for _, rtype := range kind.ReplicaTypes {
				at := strings.Split(d.Path, ".")
				if ofReplicaType {
					at = slices.Insert(at, 2, rtype.Name)
				} else if rtype.Name != kind.ReplicaTypes[len(kind.ReplicaTypes)-1].Name {
					continue // once is enough
				}
				other := values[pattern]
				for _, policy := range kind.RestartPolicies {
					if strings.HasSuffix(pattern, "ROLES.restartPolicy") && policy != cmp.Or(rtype.Restart, kind.Restart) {
						other = strconv.Quote(string(policy))
					}
				}
				checkDefault(t, kind, rtype.Name, at, d, other)
			}
		}
	}
}

func checkDefault(t *testing.T, kind *training.Kind, rtype string, at []string, d training.Default, other string) {
	t.Helper()
	without, path := converted(t, kind, rtype, at, ""), strings.Join(at, ".")
	if d.Required {
		message := strings.Replace(path, "containers.", "containers[0].", 1)
		if without.Rejection == nil || !slices.ContainsFunc(without.Rejection.Problems, func(p schema.Problem) bool { return p.Code == schema.MissingField && p.Path == message }) {
			t.Errorf("%s is said to be required; without it: %+v", path, without.Rejection)
		}
		if d.Value+d.Means != "" {
			t.Errorf("%s is required and has a default", path)
		}
		return
	}
	if known := kind.ReplicaType(rtype); known.Replicas < known.AtLeast && strings.HasSuffix(path, "."+rtype+".replicas") {
		if without.Rejection == nil || without.Rejection.Problems[0].Path != path || !strings.Contains(d.Means, "to be set for "+rtype) {
			t.Errorf("%s cannot be left out; said is %q, without it: %+v", path, d.Means, without.Rejection)
		}
		return
	}
	if without.Job == nil {
		t.Fatalf("%s is said to be optional; without it: %+v", path, without.Rejection)
	}
	if d.Value+d.Means == "" {
		t.Errorf("%s: nothing is said", path)
	}
	same := []string{"null"}
	if d.Value != "" {
		same = append(same, d.Value)
	}
	for _, value := range same {
		if with := converted(t, kind, rtype, at, value); !reflect.DeepEqual(without.Job, with.Job) {
			t.Errorf("%s: %s is said to be the same as nothing, and is not", path, value)
		}
	}
	if other == "" {
		t.Fatalf("%s: this test knows no other value", path)
	}
	with := converted(t, kind, rtype, at, other)
	if only := kind.ReplicaType(rtype).Only; only != 0 && strings.HasSuffix(path, "."+rtype+".replicas") {
		if with.Rejection == nil || with.Rejection.Problems[0].Code != schema.ReplicaCount {
			t.Errorf("%s: %s, where only %d is right: %+v", path, other, only, with.Rejection)
		}
		return
	}
	if with.Job == nil || reflect.DeepEqual(without.Job, with.Job) {
		t.Errorf("%s: %s has no effect, or is wrong: %+v", path, other, with.Rejection)
	}
}

// TestDefaultsOfAllFields: every field has a statement of what happens without it, and there is none about a field that does not exist.
// Fields of pods and of metrics are Kubernetes' own, except those listed.
func TestDefaultsOfAllFields(t *testing.T) {
	manuals, err := readManuals("", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manuals {
		for _, d := range m.kind.Defaults() {
			if at, err := lookUp([]*manual{m}, d.Path); err != nil || at.path != d.Path {
				t.Errorf("%s leads to %q: %v", d.Path, at.path, err)
			}
			if d.Value != "" && !json.Valid([]byte(d.Value)) {
				t.Errorf("%s: %s is not JSON", d.Path, strconv.Quote(d.Value))
			}
		}
		spec, err := lookUp([]*manual{m}, "spec")
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		var visit func(topic)
		visit = func(at topic) {
			for _, child := range at.children() {
				switch {
				case child.name() == "template", child.name() == "metrics":
				case len(child.field.below().Properties) > 0:
					visit(child)
				default:
					if seen++; child.mark() == "" && child.fallback() == "" {
						t.Errorf("nothing is said of what happens without %s", child.path)
					}
				}
			}
		}
		visit(spec)
		if seen < 10 {
			t.Errorf("%s: found %d fields", m.kind.Name, seen)
		}
	}
}

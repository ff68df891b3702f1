package plan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// withLauncher returns a kind with a replica type that waits for another one, and with dependent objects of all forms.
func withLauncher() *training.Kind {
	kind := *kinds.TFJob()
	kind.ReplicaTypes = []training.KnownReplicaType{
		{Name: "Chief", Label: "launcher", Replicas: 1, Only: 1, Unnumbered: true, NoService: true, After: "Worker"},
		{Name: "Worker", Label: "worker", Replicas: 1, NoService: true},
	}
	kind.Environment = nil
	kind.DependentKinds = []schema.Resource{schema.ConfigMaps(), schema.Secrets(), training.ServiceAccounts(), training.Roles(), training.RoleBindings()}
	kind.DependentNames = []string{"-config", "-old"}
	kind.Dependents = func(job *training.Job, running training.RunningReplicas) []training.Dependent {
		data := func(of string) map[string]json.RawMessage {
			return map[string]json.RawMessage{"data": json.RawMessage(of)}
		}
		config := training.Dependent{Resource: schema.ConfigMaps(), Name: job.Meta.Name + "-config", Labels: map[string]string{"app": job.Meta.Name},
			Content: data(`{"hosts":"` + strconv.Itoa(job.Replicas()) + `"}`), Gate: training.GateExists}
		if indices, known := running["Worker"]; known {
			config.Content = data(`{"hosts":"` + strconv.Itoa(job.Replicas()) + `","running":"` + strconv.Itoa(len(indices.Running)) + `"}`)
		} else {
			config.ContentOnce = data(`{"running":"none"}`)
		}
		return []training.Dependent{config,
			{Resource: schema.Secrets(), Content: map[string]json.RawMessage{"type": json.RawMessage(`"a/b"`), "data": json.RawMessage(`{"a":"YQ==","b":"Yg=="}`)}},
			{Resource: training.ServiceAccounts()},
			{Resource: training.Roles(), Content: map[string]json.RawMessage{"rules": json.RawMessage(`[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]`)}},
			{Resource: training.RoleBindings(), Content: map[string]json.RawMessage{"subjects": json.RawMessage(`[{"kind":"ServiceAccount","name":"j"}]`),
				"roleRef": json.RawMessage(`{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"j"}`)}, Gate: training.GateExists},
		}
	}
	return &kind
}

// launched returns a cluster of that kind with its dependent objects and two running workers.
func launched(t *testing.T, phase string) *cluster {
	t.Helper()
	w := newCluster()
	w.kind = withLauncher()
	two := 2
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Chief": {}, "Worker": {Replicas: &two, Restart: "OnFailure"}}
	for range 2 {
		w.step(t)
	}
	for _, name := range []string{"j-worker-0", "j-worker-1"} {
		w.setPod(t, name, phase)
	}
	return w
}

// step makes a plan and executes it.
func (w *cluster) step(t rapid.TB) Plan {
	t.Helper()
	o := w.observe()
	p := Make(o)
	checkPlan(t, o, p)
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// names returns the names of the created objects, in order.
func names(p Plan) (names []string) {
	for _, c := range p.Create {
		names = append(names, c.Resource.Kind+" "+c.Name)
	}
	return names
}

func TestDependentsOfAllForms(t *testing.T) {
	w := newCluster()
	w.kind = withLauncher()
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Chief": {}, "Worker": {}}
	p := w.step(t)
	if diff := gocmp.Diff([]string{"ConfigMap j-config", "Secret j", "ServiceAccount j", "Role j", "RoleBinding j"}, names(p)); diff != "" {
		t.Fatal(diff)
	}
	const meta = `"ownerReferences":[{"apiVersion":"kubeflow.org/v1","kind":"TFJob","name":"j","uid":"job-uid","controller":true,"blockOwnerDeletion":true}]}`
	const ours = `"training.kubeflow.org/job-name":"j","training.kubeflow.org/operator-name":"tfjob-controller"}`
	if diff := gocmp.Diff(`{"apiVersion":"v1","data":{"hosts":"2","running":"none"},"kind":"ConfigMap","metadata":{"name":"j-config","namespace":"ns","labels":{"app":"j",`+
		ours+`,`+meta+`}`, string(p.Create[0].Body)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"j","namespace":"ns","labels":{`+ours+`,`+meta+`}`, string(p.Create[2].Body)); diff != "" {
		t.Error(diff)
	}
	if p := w.step(t); !slices.Equal(names(p), []string{"Pod j-worker-0"}) || len(p.Patch)+len(p.Delete) > 0 {
		t.Errorf("behind the gates: %v, %v, %v", names(p), p.Patch, p.Delete)
	}
	if p := w.step(t); len(p.Create)+len(p.Patch)+len(p.Delete) > 0 {
		t.Errorf("nothing has changed, and there are written: %+v", p)
	}
}

// An object that differs is repaired by a patch with a resourceVersion, or created again if a member is immutable.
func TestDependentsAreRepaired(t *testing.T) {
	const version = `"metadata":{"uid":"UID","resourceVersion":"1"}`
	for name, c := range map[string]struct{ key, body, patch string }{
		"another value":        {"ConfigMap j-config", `{"data":{"hosts":"9","running":"x"}}`, `{"data":{"hosts":"3"},` + version + `}`},
		"a key is gone":        {"ConfigMap j-config", `{"data":{"other":"x"}}`, `{"data":{"hosts":"3"},` + version + `}`},
		"all is gone":          {"ConfigMap j-config", `{}`, `{"data":{"hosts":"3"},` + version + `}`},
		"somebody's key":       {"ConfigMap j-config", `{"data":{"hosts":"3","running":"0","other":"x"}}`, ""},
		"another secret value": {"Secret j", `{"type":"a/b","data":{"a":"eA==","b":"eA=="}}`, ""},
		"a key of a secret":    {"Secret j", `{"type":"a/b","data":{"a":"eA=="}}`, `{"data":{"a":"YQ==","b":"Yg=="},` + version + `}`},
		"the type of a secret": {"Secret j", `{"type":"Opaque","data":{"a":"YQ==","b":"Yg=="}}`, "delete"},
		"more rights":          {"Role j", `{"rules":[{"verbs":["get","delete"],"apiGroups":[""],"resources":["pods"]}]}`, `{"metadata":{"uid":"UID","resourceVersion":"1"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`},
		"a default":            {"Role j", `{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":[]}]}`, ""},
		"another subject": {"RoleBinding j", `{"subjects":[],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"j"}}`,
			`{` + version + `,"subjects":[{"kind":"ServiceAccount","name":"j"}]}`},
		"another role": {"RoleBinding j", `{"subjects":[{"kind":"ServiceAccount","name":"j"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"admin"}}`, "delete"},
	} {
		t.Run(name, func(t *testing.T) {
			w := launched(t, "Pending")
			w.remember(c.key, json.RawMessage(c.body))
			uid := string(w.dependents[c.key].UID)
			p := w.step(t)
			switch {
			case c.patch == "delete":
				if len(p.Delete) != 1 || p.Delete[0].ResourceVersion != "1" || string(p.Delete[0].UID) != uid || len(p.Patch) > 0 {
					t.Fatalf("deleted %+v, patched %+v", p.Delete, p.Patch)
				}
				if again := names(w.step(t)); !slices.Equal(again, []string{c.key}) {
					t.Errorf("then %v", again)
				}
			case c.patch == "":
				if len(p.Patch)+len(p.Delete) > 0 {
					t.Errorf("deleted %+v, patched %+v", p.Delete, p.Patch)
				}
			case len(p.Patch) != 1 || len(p.Delete) > 0:
				t.Fatalf("deleted %+v, patched %+v", p.Delete, p.Patch)
			default:
				if diff := gocmp.Diff(strings.ReplaceAll(c.patch, "UID", uid), string(p.Patch[0].Body)); diff != "" {
					t.Error(diff)
				}
			}
			for range 2 {
				p = w.step(t)
			}
			if len(p.Create)+len(p.Patch)+len(p.Delete) > 0 {
				t.Errorf("still %+v", p)
			}
		})
	}
}

// An object that is no longer wanted is deleted if the kind uses its name; all others are left alone.
func TestDependentsThatAreNotWanted(t *testing.T) {
	w := launched(t, "Pending")
	for _, name := range []string{"j-old", "j-older", "mine", "j-config-old"} {
		w.dependents["ConfigMap "+name] = &training.StoredDependent{Resource: schema.ConfigMaps(), Name: name, UID: "x"}
	}
	if p := w.step(t); len(p.Delete) != 1 || p.Delete[0].Name != "j-old" {
		t.Errorf("deleted %+v", p.Delete)
	}
}

// Objects with Form.Stays are not touched while the job is suspended or over.
func TestDependentsThatStay(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"suspended": func(w *cluster) { w.Suspend = true },
		"over":      func(w *cluster) { w.setPod(t, "j-launcher", "Succeeded") },
	} {
		w := launched(t, "Running")
		w.remember("ConfigMap j-config", json.RawMessage(`{}`))
		w.remember("Secret j", json.RawMessage(`{"type":"a/b"}`))
		change(w)
		p := w.step(t)
		p.Delete = slices.DeleteFunc(p.Delete, func(d Deletion) bool { return d.Resource == schema.Pods() })
		if len(p.Delete)+len(p.Create)+len(p.Patch) > 0 {
			t.Errorf("%s: deleted %+v, patched %+v, created %v", name, p.Delete, p.Patch, names(p))
		}
	}
}

// A gate is closed while the object of the job is unknown, or does not exist because a foreign object has its name.
func TestGatesOfAllForms(t *testing.T) {
	w := launched(t, "gone")
	w.unseen = []training.Unavailable{{Resource: training.RoleBindings(), Why: "forbidden"}}
	p := w.step(t)
	if len(p.Create) > 0 || len(p.Events) == 0 || p.Events[len(p.Events)-1].Reason != training.ReasonDependentUnavailable {
		t.Errorf("created %v, events %+v", names(p), p.Events)
	}
	w.unseen = nil
	delete(w.dependents, "ConfigMap j-config")
	if got := names(w.step(t)); !slices.Equal(got, []string{"ConfigMap j-config"}) {
		t.Errorf("created %v", got)
	}
	if got := names(w.step(t)); !slices.Equal(got, []string{"Pod j-worker-0", "Pod j-worker-1"}) {
		t.Errorf("created %v", got)
	}
}

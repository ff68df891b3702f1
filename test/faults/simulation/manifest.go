package simulation

import (
	"encoding/json"
	"math/rand/v2"

	"stoic/training"
	"stoic/training/kinds"
)

// manifest is the job of one schedule. It is drawn small: the rules of the planner have small numbers in them.
type manifest struct {
	kind     *training.Kind
	name     string
	roles    []role
	clean    string
	ttl      *int64
	deadline *int64
	backoff  *int64
	suspend  bool
	all      bool // successPolicy AllWorkers
	elastic  bool
	node     string // where all pods run from the beginning; empty: they are never bound, and so go at once when they are deleted
}

type role struct {
	name, label string
	replicas    int
	restart     string
}

const (
	namespace = "ns"
	jobName   = "j"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func maybe(r *rand.Rand, oneIn int, of ...int64) *int64 {
	if r.IntN(oneIn) > 0 {
		return nil
	}
	n := pick(r, of...)
	return &n
}

func drawManifest(r *rand.Rand) *manifest {
	m := &manifest{kind: pick(r, kinds.TFJob(), kinds.PyTorchJob()), name: jobName, clean: pick(r, "All", "Running", "None"),
		ttl: maybe(r, 5, 0, 20, 200), deadline: maybe(r, 6, 8, 60, 250), backoff: maybe(r, 4, 0, 1, 2), suspend: r.IntN(8) == 0,
		node: pick(r, "", "n", "n")}
	add := func(name, label string, replicas int) {
		m.roles = append(m.roles, role{name, label, replicas, pick(r, "Always", "OnFailure", "Never", "ExitCode")})
	}
	worker := 1 + r.IntN(3)
	if m.kind == kinds.TFJob() {
		if r.IntN(3) == 0 {
			add("Chief", "chief", 1)
		}
		if r.IntN(3) == 0 {
			add("PS", "ps", 1)
		}
		add("Worker", "worker", worker)
		m.all = r.IntN(3) == 0
		return m
	}
	if r.IntN(6) > 0 { // the watch of autoscalers is dear, and nothing else of this package has to do with it
		plain := *m.kind
		plain.DependentKinds, plain.Dependents = nil, nil
		m.kind = &plain
	}
	m.elastic = r.IntN(2) == 0
	if !m.elastic || r.IntN(3) == 0 {
		add("Master", "master", 1)
	}
	add("Worker", "worker", worker)
	return m
}

func (m *manifest) rolesField() string { return m.kind.ReplicaSpecsField }

func (m *manifest) container() string { return m.kind.Container }

// spec of the job as its author writes it.
func (m *manifest) spec() map[string]any {
	policy := map[string]any{"cleanPodPolicy": m.clean}
	for field, value := range map[string]*int64{"ttlSecondsAfterFinished": m.ttl, "activeDeadlineSeconds": m.deadline, "backoffLimit": m.backoff} {
		if value != nil {
			policy[field] = *value
		}
	}
	policy["suspend"] = m.suspend
	roles := map[string]any{}
	for _, r := range m.roles {
		pod := map[string]any{"containers": []any{map[string]any{"name": m.container(), "image": "i"}}}
		if m.node != "" {
			pod["nodeName"] = m.node
		}
		roles[r.name] = map[string]any{"replicas": r.replicas, "restartPolicy": r.restart, "template": map[string]any{"spec": pod}}
	}
	spec := map[string]any{"runPolicy": policy, m.rolesField(): roles}
	if m.all {
		spec["successPolicy"] = "AllWorkers"
	}
	if m.elastic {
		spec["elasticPolicy"] = map[string]any{"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d"}
	}
	return spec
}

func (m *manifest) object() []byte {
	return encode(map[string]any{"apiVersion": m.kind.APIVersion(), "kind": m.kind.Name,
		"metadata": map[string]any{"name": m.name, "namespace": namespace}, "spec": m.spec()})
}

// encode writes what can be written.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package: maps, lists, texts and numbers
	}
	return text
}

// lead is the role that decides whether the job has succeeded, and when it has.
func (m *manifest) lead() (name string, done func(pods map[string]*pod, wanted, succeeded, running int) bool) {
	all := func(_ map[string]*pod, wanted, succeeded, _ int) bool { return wanted > 0 && succeeded == wanted }
	if first := m.roles[0].name; first == "Chief" || first == "Master" {
		return first, all
	}
	switch {
	case m.elastic:
		return "Worker", func(_ map[string]*pod, _, succeeded, _ int) bool { return succeeded > 0 }
	case m.all || m.kind.Name == kinds.PyTorchJob().Name:
		return "Worker", all
	}
	return "Worker", func(pods map[string]*pod, wanted, succeeded, _ int) bool {
		first := pods[m.name+"-worker-0"]
		return wanted > 0 && (first != nil && first.phase == "Succeeded" || succeeded == wanted)
	}
}

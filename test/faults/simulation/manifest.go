package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"stoic/training"
	"stoic/training/kinds"
)

// manifest is the job of one schedule. Its numbers are small, as the planner's rules have small numbers in them.
type manifest struct {
	kind     *training.Kind
	name     string
	rtypes   []replicaType
	clean    string
	ttl      *int64
	deadline *int64
	backoff  *int64
	suspend  bool
	all      bool // successPolicy AllWorkers
	elastic  bool
	node     string // where all pods run from the beginning; empty: they are never bound, so a deletion removes them immediately
}

type replicaType struct {
	name, label string
	replicas    int
	restart     string
}

// pod returns the name of a replica of a replica type, and of the service that it may have.
func (m *manifest) pod(r *replicaType, index int) string {
	return fmt.Sprintf("%s-%s-%d", m.name, r.label, index)
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

// drawManifest draws a job of any kind but MPIJob, which the fault rig has.
func drawManifest(r *rand.Rand) *manifest {
	m := &manifest{kind: pick(r, kinds.TFJob(), kinds.TFJob(), kinds.PyTorchJob(), kinds.PyTorchJob(), kinds.XGBoostJob(), kinds.PaddleJob(), kinds.JAXJob()),
		name: jobName, clean: pick(r, "All", "Running", "None"),
		ttl: maybe(r, 5, 0, 20, 200), deadline: maybe(r, 6, 8, 60, 250), backoff: maybe(r, 4, 0, 1, 2), suspend: r.IntN(8) == 0,
		node: pick(r, "", "n", "n")}
	add := func(name, label string, replicas int) {
		m.rtypes = append(m.rtypes, replicaType{name: name, label: label, replicas: replicas, restart: pick(r, "Always", "OnFailure", "Never", "ExitCode")})
	}
	switch m.kind {
	case kinds.TFJob():
		if r.IntN(3) == 0 {
			add("Chief", "chief", 1)
		}
		if r.IntN(3) == 0 {
			add("PS", "ps", 1)
		}
		m.all = r.IntN(3) == 0
	case kinds.PyTorchJob():
		m.elastic = r.IntN(2) == 0
		if !m.elastic || r.IntN(3) == 0 {
			add("Master", "master", 1)
		}
		m.withoutAutoscaler(r)
	case kinds.XGBoostJob():
		add("Master", "master", 1)
	case kinds.PaddleJob():
		if r.IntN(2) == 0 {
			add("Master", "master", 1)
		}
		m.withoutAutoscaler(r)
	}
	add("Worker", "worker", 1+r.IntN(3))
	return m
}

// withoutAutoscaler removes the autoscaler from most jobs that have one: its watch is expensive, and nothing else in this package uses it.
func (m *manifest) withoutAutoscaler(r *rand.Rand) {
	if r.IntN(6) > 0 {
		plain := *m.kind
		plain.DependentKinds, plain.Dependents = nil, nil
		m.kind = &plain
	}
}

// spec returns the spec of the job as its user writes it.
func (m *manifest) spec() map[string]any {
	policy := map[string]any{"cleanPodPolicy": m.clean}
	for field, value := range map[string]*int64{"ttlSecondsAfterFinished": m.ttl, "activeDeadlineSeconds": m.deadline, "backoffLimit": m.backoff} {
		if value != nil {
			policy[field] = *value
		}
	}
	policy["suspend"] = m.suspend
	rtypes := map[string]any{}
	for _, r := range m.rtypes {
		pod := map[string]any{"containers": []any{map[string]any{"name": m.kind.Container, "image": "i"}}}
		if m.node != "" {
			pod["nodeName"] = m.node
		}
		rtypes[r.name] = map[string]any{"replicas": r.replicas, "restartPolicy": r.restart, "template": map[string]any{"spec": pod}}
	}
	spec := map[string]any{"runPolicy": policy, m.kind.ReplicaSpecsField: rtypes}
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

// encode encodes a value as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package: maps, lists, texts and numbers
	}
	return text
}

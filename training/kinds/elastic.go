package kinds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"stoic/schema"
	"stoic/training"
)

// elasticity holds the fields that the elastic policies of all kinds have: bounds for the number of workers, and restarts.
type elasticity struct{ low, high, restarts *int32 }

// span is an optional number in an elastic policy, with its legal range.
type span struct {
	field       string
	value       *int32
	least, most int32
}

// check returns problems of an elastic policy: missing workers, or bounds that contradict each other. rtypes is the field
// of the kind's replica types; more holds the numbers that only this kind has.
func (e elasticity) check(rtypes string, named func(string) bool, more ...span) (problems []schema.Problem) {
	if !named(worker) {
		problems = append(problems, schema.Problem{Code: schema.MissingField, Path: "spec." + rtypes + "." + worker,
			Want: "be set", Hint: "`elasticPolicy` is about workers; add them, or remove it"})
	}
	spans := append([]span{
		{"minReplicas", e.low, 0, training.MaxReplicas},
		{"maxReplicas", e.high, 0, training.MaxReplicas},
	}, more...)
	for _, number := range append(spans, span{"maxRestarts", e.restarts, 0, math.MaxInt32}) {
		if v := number.value; v != nil && (*v < number.least || *v > number.most) {
			problems = append(problems, schema.Problem{Code: schema.OutOfRange, Path: "spec.elasticPolicy." + number.field,
				Found: fmt.Sprintf("number %d", *v), Want: fmt.Sprintf("be from %d to %d", number.least, number.most)})
		}
	}
	if low, high := e.low, e.high; low != nil && high != nil && *low > *high {
		problems = append(problems, schema.Problem{Code: schema.Conflict, Path: "spec.elasticPolicy.minReplicas",
			Found: fmt.Sprintf("number %d", *low), Want: fmt.Sprintf("be less than or equal to `maxReplicas`, %d", *high)})
	}
	return problems
}

// bounds returns the bounds of an elastic job. If one is not set, it equals the other; if both are not set, the number of
// workers.
func (e elasticity) bounds(workers int32) (low, high int32) {
	switch {
	case e.low != nil && e.high != nil:
		return *e.low, *e.high
	case e.low != nil:
		return *e.low, *e.low
	case e.high != nil:
		return *e.high, *e.high
	}
	return workers, workers
}

// bound returns the upper bound in the policy; nil if it is not set.
func (e elasticity) bound() *training.Bound {
	if e.high == nil {
		return nil
	}
	return &training.Bound{ReplicaType: worker, Path: "spec.elasticPolicy.maxReplicas", Replicas: *e.high}
}

// workersOf returns the number of workers, at most MaxReplicas.
func workersOf(job *training.Job) int32 {
	if workers := job.ReplicaType(worker); workers != nil {
		return int32(min(workers.Replicas, training.MaxReplicas))
	}
	return 0
}

// cpuLoad is the API server's default for metrics. It is set explicitly, so that a later comparison finds no
// difference.
const cpuLoad = `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]`

// autoscaler returns the autoscaler of an elastic job, if its policy has metrics. They are passed on as written: they may
// be newer than our libraries.
func autoscaler(job *training.Job, low, high int32) []training.Dependent {
	if job.Verbatim == nil {
		return nil
	}
	metrics := json.RawMessage(job.Verbatim)
	if bytes.Equal(metrics, []byte("[]")) {
		metrics = json.RawMessage(cpuLoad)
	}
	return []training.Dependent{{Resource: training.Autoscalers(), Spec: map[string]json.RawMessage{
		"scaleTargetRef": schema.JSON(struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		}{job.Kind.APIVersion(), job.Kind.Name, job.Meta.Name}),
		"minReplicas": schema.JSON(low), "maxReplicas": schema.JSON(high), "metrics": metrics,
	}}}
}

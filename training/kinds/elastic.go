package kinds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"stoic/schema"
	"stoic/training"
)

// elasticity is what the elastic policies of all kinds have: the number of workers may change between two bounds.
type elasticity struct{ low, high, restarts *int32 }

// span is an optional number of an elastic policy.
type span struct {
	field       string
	value       *int32
	least, most int32
}

// check: an elastic job has workers, and bounds that can be met. Roles is where the
// kind's replica types are, more are the numbers that only one kind has.
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

// bounds of an elastic job: one that is not given is the other, and both are the number of workers.
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

// bound of the workers, as it is written; nil if it is not.
func (e elasticity) bound() *training.Bound {
	if e.high == nil {
		return nil
	}
	return &training.Bound{ReplicaType: worker, Path: "spec.elasticPolicy.maxReplicas", Replicas: *e.high}
}

// workersOf a job, as far as a policy can count them.
func workersOf(job *training.Job) int32 {
	if workers := job.ReplicaType(worker); workers != nil {
		return int32(min(workers.Replicas, training.MaxReplicas))
	}
	return 0
}

// cpuLoad is what the API takes for metrics if there are none. It is written out, so that a later look finds no
// difference.
const cpuLoad = `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]`

// autoscaler changes the number of workers of an elastic job, if its author says by which metrics. These go out as
// written: they may be younger than our libraries.
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
